"""The `judge` command: its output and its exit codes."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from fake_ledger.files import ZEROS, Body, checkpoint_of
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import task, wave_plan
from forum_conformance import cli
from forum_conformance.report import LEVELS
from unit.conformance.judged_run import draft_and_review, read_lines, write_lines
from unit.conformance.signing import NEUMANN

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "schemas/v1/verify-report.schema.json").read_text(encoding="utf-8"))

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return draft_and_review().write(tmp_path / "run")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = cli.main(["judge", *map(str, arguments)])
        except SystemExit as error:
            code = int(error.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def document(command: Command, *arguments: object) -> dict[str, Any]:
    _, out, _ = command(*arguments, "--json")
    loaded: dict[str, Any] = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMA).validate(loaded)
    return loaded


@pytest.mark.requirement("LEDGER-VERIFY-003")
def test_a_valid_run_directory_exits_0(command: Command, directory: Path) -> None:
    code, out, err = command(directory)

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "valid: 10 entries, run 01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f, passed",
        "  1 bytes      ok",
        "  2 chain      ok",
        "  3 bodies     ok",
        "  4 semantics  ok",
        "  5 seal       ok",
    ]


@pytest.mark.requirement("LEDGER-VERIFY-003")
def test_an_invalid_run_directory_exits_3_and_names_the_first_bad_seq(command: Command, directory: Path) -> None:
    lines = read_lines(directory)
    write_lines(directory, [*lines[:4], lines[4] + b" ", *lines[5:]])

    code, out, _ = command(directory)

    assert code == 3
    assert out.splitlines() == [
        "invalid: 10 entries, run 01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f, passed",
        "  1 bytes      fail, first failure at seq 4",
        "  2 chain      fail, first failure at seq 5",
        "  3 bodies     not checked: level 1 or 2 failed",
        "  4 semantics  not checked: level 1 or 2 failed",
        "  5 seal       not checked: level 1 or 2 failed",
        "L104 at seq 4: the line is not in RFC 8785 form",
        "L201 at seq 5: 'prev' is not the hash of the previous line",
    ]


@pytest.mark.requirement("LEDGER-VERIFY-003")
def test_an_incomplete_run_directory_exits_7(command: Command, tmp_path: Path) -> None:
    code, out, _ = command(draft_and_review(is_sealed=False).write(tmp_path))

    assert code == 7
    assert out.startswith("incomplete: 9 entries")
    assert "L501: the last line is not a seal" in out


@pytest.mark.requirement("LEDGER-VERIFY-005")
def test_a_json_report_matches_its_schema(command: Command, directory: Path) -> None:
    lines = read_lines(directory)
    report = document(command, directory, "--checkpoint", _file(directory.parent / "given", checkpoint_of(lines[:3])))

    assert report["verdict"] == "valid"
    assert report["status"] == "passed"
    assert report["entries"] == 10
    assert [level["name"] for level in report["levels"]] == list(LEVELS.values())
    assert report["checkpoints"] == [{"source": "given", "size": 3, "signed_by": None}]


@pytest.mark.requirement("LEDGER-VERIFY-005")
def test_a_report_has_the_status_of_the_last_line_and_the_number_of_redacted_digests(
    command: Command, tmp_path: Path
) -> None:
    builder = draft_and_review()
    for _ in range(2):
        builder.redact(Body(b"a draft"), "output", 2)
    builder.redact(Body(b"the notes"), "output", 6)
    report = document(command, builder.write(tmp_path))
    assert (report["status"], report["redacted"], report["codes"]) == (None, 2, ["L309", "L501"])

    builder.seal()
    lines = read_lines(builder.write(tmp_path))
    write_lines(tmp_path, [lines[0], *lines[2:]])
    report = document(command, tmp_path)
    assert (report["status"], report["redacted"], report["verdict"]) == ("passed", 2, "invalid")


def test_a_report_has_a_hundred_findings_and_the_number_of_the_others(command: Command, tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(b"\n" * 250)

    report = document(command, tmp_path / "ledger.jsonl")

    assert (len(report["findings"]), report["more_findings"], report["codes"]) == (100, 150, ["L102"])
    assert (report["first_bad_seq"], report["run"], report["verdict"]) == (0, None, "invalid")
    assert "and 150 more findings" in command(tmp_path / "ledger.jsonl")[1]


def test_control_characters_from_a_ledger_are_escaped(command: Command, tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task(agent="\x1b[31mred")}))

    _, out, _ = command(builder.write(tmp_path))

    assert "L401 at seq 0: the wave plan refers to the agent '\\x1b[31mred', which it does not have" in out


def test_standard_input_is_a_bare_ledger(command: Command, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (directory / "ledger.jsonl").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    code, out, _ = command("-")

    assert code == 0
    assert "  3 bodies     not checked: needs the run directory" in out


@pytest.mark.parametrize(
    ("levels", "checked"),
    [
        ("1", [1, 2]),
        ("2", [1, 2]),
        ("3", [1, 2, 3]),
        ("4", [1, 2, 4]),
        ("5", [1, 2, 5]),
        ("1-3", [1, 2, 3]),
        ("1,2,5", [1, 2, 5]),
        ("3-4,5", [1, 2, 3, 4, 5]),
    ],
)
def test_a_level_includes_the_levels_it_depends_on(
    command: Command, directory: Path, levels: str, checked: list[int]
) -> None:
    report = document(command, directory, "--level", levels)

    assert [level["level"] for level in report["levels"] if level["status"] == "ok"] == checked
    assert {level["reason"] for level in report["levels"] if level["status"] != "ok"} <= {"not requested"}


def test_a_level_that_was_not_requested_has_no_findings(command: Command, directory: Path) -> None:
    (directory / "bodies.tar").write_bytes(b"x")
    (directory / "checkpoint").write_bytes(b"x")

    assert document(command, directory, "--level", "1,2")["codes"] == []
    assert document(command, directory, "--level", "3")["codes"] == ["L301"]
    assert document(command, directory, "--level", "4")["codes"] == []
    assert document(command, directory, "--level", "5")["codes"] == ["L506"]


@pytest.mark.requirement("LEDGER-VERIFY-003", "LEDGER-VERIFY-005")
@pytest.mark.parametrize(
    "arguments",
    [
        ["missing"],
        ["{}", "--level", "0"],
        ["{}", "--level", "3-1"],
        ["{}", "--level", "all"],
        ["{}/ledger.jsonl", "--level", "3"],
        ["{}/ledger.jsonl", "--level", "1-5"],
        ["-", "--level", "4"],
        ["{}", "--expect-head", "abc"],
        ["{}", "--checkpoint", "missing"],
        ["{}", "--checkpoint", "{}"],
        ["{}", "--key", "missing"],
        ["{}", "--key", "{}/ledger.jsonl"],
        ["{}", "--key", "{}/bodies.tar"],
        ["{}", "--pin", "{}"],
        ["{}", "--pin", "{}/ledger.jsonl"],
        ["{}", "--level", "1-3", "--expect-head", ZEROS],
        ["{}", "--level", "1-4", "--checkpoint", "{}/ledger.jsonl"],
        ["{}", "--level", "1-3", "--key", "{}/ledger.jsonl"],
        ["{}", "--level", "1-3", "--pin", "{}/pin"],
        ["{}/outputs"],
        [],
    ],
)
def test_a_usage_error_exits_2(command: Command, directory: Path, arguments: list[str]) -> None:
    code, out, err = command(*(argument.format(directory) for argument in arguments))

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("forum-conformance")


def test_a_key_without_a_checkpoint_is_a_usage_error(command: Command, directory: Path) -> None:
    code, _, err = command(directory, "--key", _file(directory.parent / "key", NEUMANN.encode()))

    assert code == 2
    assert "no checkpoint to verify with the key" in err


def test_a_key_is_read_from_a_file(command: Command, directory: Path) -> None:
    (directory / "checkpoint").write_bytes(checkpoint_of(read_lines(directory)))

    code, out, _ = command(directory, "--key", _file(directory.parent / "key", NEUMANN.encode()))

    assert code == 3
    assert "L510: the checkpoint (directory) is not signed by the key of 'PeterNeumann'" in out


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_a_pin_is_written_only_if_the_ledger_is_valid(command: Command, tmp_path: Path) -> None:
    builder = draft_and_review()
    directory, pin = builder.write(tmp_path / "run"), tmp_path / "pin"
    assert command(directory, "--pin", pin)[0] == 0
    assert pin.read_bytes() == checkpoint_of(read_lines(directory))

    builder.add("x-note")
    builder.write(directory)
    before = pin.read_bytes()
    assert command(directory, "--pin", pin)[0] == 7
    assert pin.read_bytes() == before

    builder.seal()
    builder.write(directory)
    assert command(directory, "--pin", pin)[0] == 0
    assert pin.read_bytes() == checkpoint_of(read_lines(directory))

    draft_and_review().write(directory)
    after = pin.read_bytes()
    assert command(directory, "--pin", pin)[0] == 3
    assert pin.read_bytes() == after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pin", "run"]


def test_a_defect_is_reported_without_a_traceback(
    command: Command, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("forum_conformance.targets.judge", fail)

    code, out, err = command(directory)

    assert (code, out) == (70, "")
    assert "internal error: ZeroDivisionError in test_cli.py" in err
    assert "Please report it" in err
    assert "Traceback" not in err


def test_an_interrupt_exits_with_130(command: Command, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("forum_conformance.targets.judge", interrupt)

    assert command(directory) == (130, "", "forum-conformance: interrupted\n")


def test_the_judge_imports_neither_runner_nor_adapters(directory: Path) -> None:
    program = (
        "import sys\nfrom forum_conformance.cli import main\n"
        f"assert main(['judge', {str(directory)!r}]) == 0\n"
        "assert not {'forum_runner', 'forum_adapters', 'orjson', 'cryptography', 'yaml'} & set(sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "conformance")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stderr) == (0, "")


def test_the_module_is_a_command(directory: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "forum_conformance", "judge", str(directory)], capture_output=True, check=False
    )

    assert result.returncode == 0


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_help_loads_no_heavy_module() -> None:
    program = (
        "import sys\nfrom forum_conformance.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'jsonschema', 'rfc8785', 'concurrent.futures', 'subprocess'} & set(sys.modules)"
    )

    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (completed.returncode, completed.stderr) == (0, "")
    assert all(f"    {name} " in completed.stdout for name in ("judge", "test", "smoke"))
