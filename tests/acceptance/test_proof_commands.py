"""The commands `forum keygen`, `forum checkpoint` and `forum prove`."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from fake_ledger.files import RUN, checkpoint_of
from forum_runner.ledger.checkpoint import open_checkpoint
from forum_runner.ledger.note import VerifierKey
from forum_runner.ledger.proof import check_proof
from ledgers.example_run import ExampleRun


def notes_run() -> ExampleRun:
    run = ExampleRun()
    for number in range(5):
        run.add("x-note", {"text": f"é {number}"})
    run.seal()
    return run


LINES = notes_run().lines()
CHECKPOINT = checkpoint_of(LINES)


def forum(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    if not stdin:
        return warm.call("forum", *arguments, cwd=cwd)
    command = [sys.executable, "-m", "forum_runner", *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes_run().write(tmp_path / "run")
    return tmp_path


def create_key(folder: Path) -> VerifierKey:
    return VerifierKey.parse(forum("keygen", "example.org/me", "-o", "key", cwd=folder).stdout.decode().strip())


def refusal(result: subprocess.CompletedProcess[bytes]) -> tuple[int, str]:
    """Return the exit code and the last line of standard error. Assert that standard output is empty."""
    assert result.stdout == b""
    return result.returncode, result.stderr.decode().splitlines()[-1]


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_keygen_writes_a_private_key_only_its_owner_can_read_and_prints_the_public_one(tmp_path: Path) -> None:
    result = forum("keygen", "example.org/me", "-o", "key", cwd=tmp_path)

    private, public = (tmp_path / "key").read_text(), (tmp_path / "key.pub").read_text()
    assert (result.returncode, result.stdout.decode(), result.stderr) == (0, public, b"")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert private.startswith("PRIVATE+KEY+example.org/me+")
    assert VerifierKey.parse(public.strip()).name == "example.org/me"


def test_keygen_json_names_the_files_and_omits_the_secret(tmp_path: Path) -> None:
    result = forum("keygen", "me", "-o", "key", "--json", cwd=tmp_path)

    key = VerifierKey.parse((tmp_path / "key.pub").read_text().strip())
    assert json.loads(result.stdout) == {
        "name": "me",
        "id": key.id.hex(),
        "public_key": key.encode(),
        "private_key_file": "key",
        "public_key_file": "key.pub",
    }


@pytest.mark.parametrize("name", ["key", "key.pub"])
def test_keygen_overwrites_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")

    result = forum("keygen", "me", "-o", "key", cwd=tmp_path)

    assert refusal(result) == (2, f"forum: '{name}' already exists; not overwriting it")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "mine"}


def test_keygen_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")

    assert refusal(forum("keygen", "me", "-o", "key", cwd=tmp_path)) == (
        2,
        "forum: 'key' already exists; not overwriting it",
    )
    assert not (tmp_path / "elsewhere").exists()


def test_keygen_refuses_to_print_a_private_key(tmp_path: Path) -> None:
    result = forum("keygen", "me", "-o", "-", cwd=tmp_path)

    assert refusal(result) == (2, "forum: a private key is never printed; use a file")


@pytest.mark.parametrize("name", ["", "two words", "a+b"])
def test_keygen_refuses_a_name_that_is_invalid_in_a_note(tmp_path: Path, name: str) -> None:
    code, line = refusal(forum("keygen", name, "-o", "key", cwd=tmp_path))

    assert code == 2
    assert line.startswith(f"forum: invalid key name {name!r}: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
@pytest.mark.parametrize("run", ["run", "run/ledger.jsonl", "-"])
def test_checkpoint_reads_a_directory_a_file_and_standard_input(folder: Path, run: str) -> None:
    result = forum("checkpoint", run, cwd=folder, stdin=(folder / "run/ledger.jsonl").read_bytes())

    assert (result.returncode, result.stdout, result.stderr) == (0, CHECKPOINT, b"")


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
def test_checkpoint_covers_the_requested_number_of_entries(folder: Path) -> None:
    for size in range(len(LINES) + 1):
        assert forum("checkpoint", "run", "--size", str(size), cwd=folder).stdout == checkpoint_of(LINES[:size])


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_checkpoint_signs_with_a_key(folder: Path) -> None:
    key = create_key(folder)

    data = forum("checkpoint", "run", "--key", "key", cwd=folder).stdout

    assert data.startswith(CHECKPOINT + b"\n\xe2\x80\x94 example.org/me ")
    assert open_checkpoint(data, key) == open_checkpoint(CHECKPOINT, None)


def test_checkpoint_writes_a_file(folder: Path) -> None:
    result = forum("checkpoint", "run", "-o", "mine", cwd=folder)

    assert (result.returncode, result.stdout) == (0, b"mine: checkpoint of 7 entries\n")
    assert (folder / "mine").read_bytes() == CHECKPOINT


def test_checkpoint_json_describes_the_checkpoint(folder: Path) -> None:
    document = json.loads(forum("checkpoint", "run", "--json", cwd=folder).stdout)

    assert document["checkpoint"] == CHECKPOINT.decode()
    assert (document["run"], document["size"], document["sealed"]) == (RUN, 7, True)
    assert len(document["root"]) == 64


@pytest.mark.parametrize("path", ["run/ledger.jsonl", "key"])
def test_checkpoint_does_not_overwrite_its_input(folder: Path, path: str) -> None:
    create_key(folder)
    before = (folder / path).read_bytes()

    result = forum("checkpoint", "run", "--key", "key", "-o", path, cwd=folder)

    assert refusal(result) == (2, f"forum: not overwriting '{path}': it is one of the input files")
    assert (folder / path).read_bytes() == before


def test_an_unsealed_ledger_gets_a_checkpoint_with_a_warning(folder: Path) -> None:
    ledger = folder / "run/ledger.jsonl"
    ledger.write_bytes(b"".join(line + b"\n" for line in LINES[:4]) + LINES[4][:10])

    result = forum("checkpoint", "run", cwd=folder)

    assert (result.returncode, result.stdout) == (0, checkpoint_of(LINES[:4]))
    assert result.stderr == b"forum: the ledger is not sealed: it may still grow, or its end may be missing\n"


def test_a_ledger_with_a_torn_tail_after_its_seal_is_not_sealed(folder: Path) -> None:
    with (folder / "run/ledger.jsonl").open("ab") as stream:
        stream.write(b"{")

    assert not json.loads(forum("checkpoint", "run", "--json", cwd=folder).stdout)["sealed"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES[:2], *LINES[3:]], "forum: the ledger in 'run' is invalid at entry 2: L201 "),
        (
            [*LINES[:2], LINES[2].replace(b"x-note", b"x-nota"), *LINES[3:]],
            "forum: the ledger in 'run' is invalid at entry 3: L201 ",
        ),
        ([*LINES[:2], b"{}", *LINES[2:]], "forum: the ledger in 'run' is invalid at entry 2: L105 "),
        ([*LINES, b"x"], "forum: the ledger in 'run' is invalid at entry 7: L102 "),
    ],
)
@pytest.mark.parametrize(
    "command",
    [["checkpoint", "run", "--size", "1"], ["prove", "inclusion", "run", "--seq", "0"]],
    ids=["checkpoint", "prove"],
)
def test_an_invalid_ledger_gets_neither_checkpoint_nor_proof(
    folder: Path, lines: list[bytes], message: str, command: list[str]
) -> None:
    (folder / "run/ledger.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))

    code, line = refusal(forum(*command, cwd=folder))

    assert code == 3
    assert line.startswith(message)


def test_a_ledger_without_entries_is_incomplete(folder: Path) -> None:
    (folder / "run/ledger.jsonl").write_bytes(b"")

    assert refusal(forum("checkpoint", "run", cwd=folder)) == (7, "forum: 'run' has no entries")


@pytest.mark.requirement("LEDGER-PROOF-001")
def test_every_entry_has_an_inclusion_proof(folder: Path) -> None:
    for seq, line in enumerate(LINES):
        result = forum("prove", "inclusion", "run", "--seq", str(seq), cwd=folder)

        assert (result.returncode, result.stderr) == (0, b"")
        assert json.loads(result.stdout)["entry"] == line.decode()
        assert check_proof(result.stdout, checkpoint=CHECKPOINT).findings == ()


@pytest.mark.requirement("LEDGER-PROOF-001")
def test_a_consistency_proof_connects_an_older_checkpoint_to_a_newer_one(folder: Path) -> None:
    for size in range(len(LINES) + 1):
        result = forum("prove", "consistency", "run", "--from", "3", "--size", str(size), cwd=folder)

        if size < 3:
            message = f"forum: cannot prove consistency with 3 entries: the checkpoint covers only {size}"
            assert refusal(result) == (2, message)
        else:
            assert check_proof(result.stdout, checkpoint=checkpoint_of(LINES[:3])).findings == ()
            assert check_proof(result.stdout, checkpoint=checkpoint_of(LINES[:size])).findings == ()


@pytest.mark.requirement("LEDGER-PROOF-001", "LEDGER-CHECKPOINT-002")
def test_a_proof_is_signed_and_written_to_a_file(folder: Path) -> None:
    key = create_key(folder)

    result = forum("prove", "inclusion", "-", "--seq", "2", "--size", "5", "--key", "key", "-o", "proof.json",
                   cwd=folder, stdin=(folder / "run/ledger.jsonl").read_bytes())  # fmt: skip

    claim = f"the enclosed line is entry 2 of run {RUN} (checkpoint of its first 5 entries)"
    assert result.stdout.decode() == f"proof.json: proof that {claim}\n"
    assert check_proof((folder / "proof.json").read_bytes(), key=key).findings == ()


@pytest.mark.requirement("LEDGER-PROOF-001", "LEDGER-CHECKPOINT-003")
def test_a_proof_is_invalid_with_a_key_that_did_not_sign_it(folder: Path) -> None:
    create_key(folder)
    forum("prove", "inclusion", "run", "--seq", "2", "-o", "proof.json", cwd=folder)

    result = forum("verify", "--proof", "proof.json", "--key", "key.pub", "--json", cwd=folder)

    report = json.loads(result.stdout)
    assert (result.returncode, report["verdict"], report["vouched"]) == (3, "invalid", False)
    assert [finding["code"] for finding in report["findings"]] == ["L510"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["checkpoint", "nowhere"], "no file, directory or run 'nowhere'"),
        (["checkpoint", "run", "--size", "8"], "'run' has only 7 entries, fewer than 8"),
        (["checkpoint", "run", "--key", "nowhere"], "cannot read 'nowhere': No such file or directory"),
        (["checkpoint", "run", "--key", "run"], "cannot read 'run': Is a directory"),
        (
            ["checkpoint", "run", "--key", "key.pub"],
            "'key.pub' is not a private key: it is a public key; pass the private key",
        ),
        (
            ["checkpoint", "run", "--key", "run/ledger.jsonl"],
            (
                "'run/ledger.jsonl' is not a private key: it does not have the form NAME+ID+BASE64, "
                "with an ID of eight hexadecimal digits"
            ),
        ),
        (
            ["checkpoint", "run", "--json", "-o", "mine"],
            "--json prints to standard output and -o writes to a file; use one of them",
        ),
        (
            ["prove", "inclusion", "run", "--seq", "7"],
            "entry 7 is not in the checkpoint, which covers 7 entries, numbered from 0",
        ),
        (
            ["prove", "inclusion", "run", "--seq", "3", "--size", "3"],
            "entry 3 is not in the checkpoint, which covers 3 entries, numbered from 0",
        ),
        (
            ["prove", "consistency", "run", "--from", "9"],
            "cannot prove consistency with 9 entries: the checkpoint covers only 7",
        ),
    ],
)
def test_an_impossible_request_is_a_usage_error(folder: Path, arguments: list[str], message: str) -> None:
    create_key(folder)

    assert refusal(forum(*arguments, cwd=folder)) == (2, f"forum: {message}")


def test_a_key_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "key").write_bytes(os.urandom(64) + b"\xff")

    code, line = refusal(forum("checkpoint", "run", "--key", "key", cwd=folder))

    assert (code, line) == (2, "forum: 'key' is not a key: it is not UTF-8")
