"""A program that cannot be started is refused with a reason."""

import asyncio
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Executable, Failure, Reply
from forum_adapters.command import CommandAdapter
from forum_adapters.programs.executable import CannotStart, ProgramDigests, find_program
from unit.adapters.command_programs import WITH_PATH, attempt, reply_to, shell


def write_program(path: Path, text: str = "#!/bin/sh\necho ran\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def refusal(reply: Reply) -> str:
    assert reply.failure is not None
    assert (reply.failure.kind, reply.exit_status, reply.content) == (ErrorKind.INVALID_REQUEST, None, b"")
    return reply.failure.message


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "cannot start '': the program has no name"),
        (("",), "cannot start '': the program has no name"),
        (("no-such-program",), "cannot start 'no-such-program': no such program on its PATH"),
        (("./nowhere/tool",), "cannot start './nowhere/tool': no such file"),
        (("./plain",), "cannot start './plain': it is not executable"),
        (("./folder",), "cannot start './folder': it is a directory"),
        (("x" * 5000,), f"cannot start '{'x' * 5000}': no such program on its PATH"),
        (("echo", "a\0b"), "cannot start 'echo': an argument contains a NUL"),
        (("echo", "\ud800"), "cannot start 'echo': an argument cannot be written in this system's encoding"),
        (("echo", "x" * 3_000_000), "cannot start 'echo': Argument list too long"),
        (("./not-a-program",), "cannot start './not-a-program': Exec format error"),
    ],
)
def test_a_program_that_cannot_be_started_is_an_invalid_request(
    tmp_path: Path, argv: tuple[str, ...], message: str
) -> None:
    write_program(tmp_path / "plain", mode=0o644)
    write_program(tmp_path / "not-a-program", "just words")
    (tmp_path / "folder").mkdir()

    assert refusal(reply_to(attempt(*argv, workspace=tmp_path))) == message


@pytest.mark.parametrize(
    ("first_line", "problem"),
    [
        ("#!/no/such/interpreter", "'/no/such/interpreter', which does not exist"),
        ("#! \t/no/such/interpreter -x", "'/no/such/interpreter', which does not exist"),
        ("#!./plain/inside", "'./plain/inside', which does not exist"),
        ("#!./folder", "'./folder', which is a directory"),
        ("#!./plain", "'./plain', which cannot be started: Permission denied"),
        (
            "#!/bin/sh\r",
            "'/bin/sh' and a carriage return, and no such file exists: lines must end with LF only",
        ),
    ],
)
def test_the_message_names_the_interpreter_of_a_script_that_cannot_be_run(
    tmp_path: Path, first_line: str, problem: str
) -> None:
    (tmp_path / "folder").mkdir()
    write_program(tmp_path / "plain", mode=0o644)
    script = write_program(tmp_path / "script")
    script.write_bytes(f"{first_line}\necho ran\n".encode())

    message = refusal(reply_to(attempt("./script", workspace=tmp_path)))

    assert message == f"cannot start './script': its first line names {problem}"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name the loader differently")
def test_a_missing_loader_is_not_reported_as_a_missing_program(tmp_path: Path) -> None:
    """A program built for a different C library behaves like this."""
    binary = Path(shutil.which("true") or "/bin/true").read_bytes()
    tool = write_program(tmp_path / "tool")
    tool.write_bytes(binary.replace(b"/ld-", b"/no-"))

    message = refusal(reply_to(attempt("./tool", workspace=tmp_path)))

    assert message == "cannot start './tool': its loader does not exist"


def test_an_adapter_works_after_a_failed_start() -> None:
    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        replies = [await adapter.answer(attempt(*argv)) for argv in (("echo", "x" * 3_000_000), ("echo", "short"))]
        await adapter.close()
        return replies

    too_long, short = asyncio.run(ask())

    assert (refusal(too_long), short.content) == ("cannot start 'echo': Argument list too long", b"short\n")


def test_a_program_starts_in_its_working_directory(tmp_path: Path) -> None:
    (tmp_path / "services" / "api").mkdir(parents=True)

    reply = reply_to(attempt("pwd", workspace=tmp_path), {"cwd": "services/api"})

    assert reply.content == os.fsencode(tmp_path.resolve() / "services" / "api") + b"\n"


@pytest.mark.parametrize("cwd", ["..", "inside/../..", "/", "way-out", "way-out/deeper"])
def test_a_directory_outside_the_workspace_is_refused_even_through_a_symlink(tmp_path: Path, cwd: str) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "inside").mkdir(parents=True)
    (tmp_path / "outside" / "deeper").mkdir(parents=True)
    (workspace / "way-out").symlink_to(tmp_path / "outside")

    reply = reply_to(attempt("pwd", workspace=workspace), {"cwd": cwd})

    assert refusal(reply) == f"cannot start 'pwd': its directory '{cwd}' leaves the workspace"


def test_a_symlink_inside_the_workspace_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert reply_to(attempt("pwd", workspace=tmp_path), {"cwd": "link"}).content.endswith(b"/real\n")


@pytest.mark.parametrize("cwd", ["nowhere", "a-file", "a\0b", "loop"])
def test_an_unusable_directory_is_refused(tmp_path: Path, cwd: str) -> None:
    (tmp_path / "a-file").touch()
    (tmp_path / "loop").symlink_to("loop")

    message = refusal(reply_to(attempt("pwd", workspace=tmp_path), {"cwd": cwd}))

    assert message.startswith(f"cannot start 'pwd': its directory '{cwd}' ")


def test_a_program_with_a_slash_is_relative_to_its_working_directory(tmp_path: Path) -> None:
    tool = write_program(tmp_path / "sub" / "bin" / "tool")

    reply = reply_to(attempt("bin/tool", workspace=tmp_path), {"cwd": "sub"})

    digest = hashlib.sha256(tool.read_bytes()).hexdigest()
    assert reply == Reply(content=b"ran\n", exit_status=0, executable=Executable(str(tool.resolve()), digest))


def test_a_program_is_looked_up_on_the_childs_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path / "bin" / "only-here")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with_path = reply_to(attempt("only-here"), {"env": ["PATH"]})
    without_path = reply_to(attempt("only-here"), {"env": []})

    assert with_path.content == b"ran\n"
    assert refusal(without_path) == "cannot start 'only-here': no such program on its PATH"


@pytest.mark.parametrize("search_path", ["", "bin:", "nowhere::/no", "./."])
def test_empty_and_relative_parts_of_the_path_are_relative_to_the_childs_directory(
    tmp_path: Path, search_path: str
) -> None:
    write_program(tmp_path / "tool")

    assert find_program("tool", search_path, tmp_path).resolve() == (tmp_path / "tool").resolve()


def test_the_first_executable_program_on_the_path_is_used(tmp_path: Path) -> None:
    write_program(tmp_path / "a" / "tool", mode=0o644)
    (tmp_path / "b" / "tool").mkdir(parents=True)
    write_program(tmp_path / "c" / "tool")
    write_program(tmp_path / "d" / "tool")

    assert find_program("tool", "a:b:c:d", tmp_path) == tmp_path / "c" / "tool"


def test_a_program_on_the_path_without_execute_permission_is_reported_as_such(tmp_path: Path) -> None:
    write_program(tmp_path / "tool", mode=0o644)

    with pytest.raises(CannotStart, match="cannot start 'tool': it is not executable"):
        find_program("tool", str(tmp_path), tmp_path)


def test_a_symlink_is_recorded_as_its_target_and_started_by_its_own_name(tmp_path: Path) -> None:
    real = write_program(tmp_path / "real", '#!/bin/sh\necho "$0"\n')
    (tmp_path / "link").symlink_to(real)

    reply = reply_to(attempt("./link", workspace=tmp_path))

    assert reply.executable == Executable(str(real.resolve()), hashlib.sha256(real.read_bytes()).hexdigest())
    assert Path(os.fsdecode(reply.content.strip())).name == "link"


def test_a_changed_program_gets_a_different_digest(tmp_path: Path) -> None:
    digests = ProgramDigests()
    tool = write_program(tmp_path / "tool")
    before, times = digests.read(tool), tool.stat()

    tool.write_bytes(tool.read_bytes().replace(b"ran", b"run"))
    os.utime(tool, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert digests.cached(tool) is None
    assert digests.read(tool).digest == hashlib.sha256(tool.read_bytes()).hexdigest() != before.digest


def test_an_unchanged_program_is_read_once(tmp_path: Path) -> None:
    digests = ProgramDigests()
    tool = write_program(tmp_path / "tool")

    assert digests.cached(tool) is None
    assert digests.read(tool) == digests.cached(tool)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, None),
        ({"argv": ["sh", "-c", "exit 1"]}, None),
        ({"argv": ["/bin/sh"]}, None),
        ({"argv": ["no-such-model-cli"]}, "cannot start 'no-such-model-cli': no such program on its PATH"),
        ({"argv": ["/no/such/cli"]}, "cannot start '/no/such/cli': no such file"),
        ({"argv": ["a\0b"]}, "cannot start 'a\0b': an argument contains a NUL"),
    ],
)
def test_a_probe_reports_why_a_fixed_program_would_not_start(settings: dict[str, Any], problem: str | None) -> None:
    assert asyncio.run(CommandAdapter("shell", settings).probe()) == problem


def test_a_failure_to_start_a_process_is_not_an_invalid_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")

    reply = reply_to(attempt(*shell("true")))

    assert reply.failure == Failure(
        ErrorKind.TOOL_FAILURE,
        "cannot start a process for '/bin/sh': [Errno 2] No such file or directory: '/no/such/python'",
    )
