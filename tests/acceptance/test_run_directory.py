"""`--out` of `forum run`, `forum resume --failed` and `forum import` requires an empty directory."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from acceptance.samples import SAMPLES
from acceptance.workflow_folder import Folder, Result, bytes_in, check_valid, sh

NOT_EMPTY = "already exists; choose an empty directory"
# Contents of a directory, and the file that the message names.
CONTENTS: dict[str, tuple[Mapping[str, str], str]] = {
    "files of the same names": (
        {"checkpoint": "mine", "invocation.json": "{}", "wave-plan.json": "mine"},
        "checkpoint",
    ),
    "outputs": ({"invocation.json": "{}", "outputs/mine.txt": "mine"}, "invocation.json"),
    "a file in place of the outputs": ({"outputs": "mine"}, "outputs"),
    "an unrelated file": ({".hidden": ""}, ".hidden"),
    "bodies": ({"bodies.tar": "mine", "ledger.jsonl": ""}, "bodies.tar"),
    "a ledger": ({"bodies.tar": "mine", "ledger.jsonl": "mine\n"}, "ledger.jsonl"),
    "an unrelated file beside the files of a killed start": (
        {"bodies.tar": "", "ledger.jsonl": "", "notes": "mine"},
        "notes",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "project")


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def start_in(folder: Folder, command: str, out: str) -> Result:
    """Start a run in `out` with one of the three commands."""
    if command == "import":
        return folder.forum("import", SAMPLES["otel-older"], "--out", out)
    if command == "resume":
        return folder.forum("resume", "first", "--failed", "--out", out)
    return folder.run(out=out)


@pytest.fixture
def failed_run(folder: Folder) -> Folder:
    """A folder with a failed run. Every task that runs appends to `effects`."""
    folder.write({"a": sh("echo x >> effects; exit 1")})
    assert folder.run(out="first").code == 1
    return folder


@pytest.mark.parametrize("command", ["run", "resume", "import"])
@pytest.mark.parametrize("case", CONTENTS)
def test_a_directory_that_is_not_empty_is_refused_and_unchanged(failed_run: Folder, case: str, command: str) -> None:
    files, named_file = CONTENTS[case]
    write_files(failed_run.path / "own", files)
    before = bytes_in(failed_run.path)

    result = start_in(failed_run, command, "own")

    assert (result.code, result.err.splitlines()[-1]) == (2, f"forum: 'own/{named_file}' {NOT_EMPTY}")
    assert bytes_in(failed_run.path) == before
    assert failed_run.lines("effects") == ["x"]


@pytest.mark.parametrize("command", ["run", "resume", "import"])
def test_an_empty_directory_name_is_refused(failed_run: Folder, command: str) -> None:
    before = bytes_in(failed_run.path)

    result = start_in(failed_run, command, "")

    assert result.code == 2
    assert result.err.endswith("forum: Invalid value for '--out': the name of the directory is empty\n")
    assert bytes_in(failed_run.path) == before


def test_an_empty_directory_is_accepted_and_so_is_the_current_one(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "project")
    folder.write({"a": sh("echo x")})
    here = Folder(tmp_path / "here")
    (here.path / "created").mkdir(parents=True)

    created = here.forum("run", "../project/workflow.yaml", "--out", "created")
    (here.path / "created").rename(tmp_path / "created")
    current = here.forum("run", "../project/workflow.yaml", "--out", ".")

    assert (created.code, current.code) == (0, 0), (created, current)
    check_valid(tmp_path / "created")
    check_valid(here.path)


EMPTY_FILES = {"bodies.tar": "", "ledger.jsonl": ""}


@pytest.mark.parametrize(
    "remaining", [["bodies.tar"], ["bodies.tar", "ledger.jsonl"], [*EMPTY_FILES, "invocation.json"]]
)
def test_a_run_reuses_the_directory_of_a_start_that_was_killed(folder: Folder, remaining: list[str]) -> None:
    folder.write({"a": sh("echo ${{ inputs.word }}")}, inputs={"word": {"type": "string"}})
    assert folder.run("--input", "word=one", out="first").code == 0
    write_files(folder.path / "run", {**EMPTY_FILES, "invocation.json": folder.read("first/invocation.json")})
    for name in {"invocation.json", *EMPTY_FILES} - set(remaining):
        (folder.path / "run" / name).unlink()

    result = folder.run("--input", "word=two")

    assert result.code == 0, result
    assert json.loads(folder.read("run/invocation.json"))["inputs"] == {"word": "two"}
    check_valid(folder.path / "run")


def test_an_import_refuses_a_directory_with_an_invocation(failed_run: Folder) -> None:
    write_files(failed_run.path / "empty", EMPTY_FILES)
    write_files(failed_run.path / "own", {**EMPTY_FILES, "invocation.json": failed_run.read("first/invocation.json")})
    before = bytes_in(failed_run.path / "own")

    results = [start_in(failed_run, "import", out) for out in ("empty", "own")]

    assert [result.code for result in results] == [0, 2], results
    assert results[1].err == f"forum: 'own/invocation.json' {NOT_EMPTY}\n"
    assert bytes_in(failed_run.path / "own") == before


def test_a_second_process_does_not_change_the_files_of_the_first(failed_run: Folder) -> None:
    """The first process has locked the files but has not written an entry."""
    write_files(failed_run.path / "run", {**EMPTY_FILES, "invocation.json": failed_run.read("first/invocation.json")})
    before = bytes_in(failed_run.path / "run")

    with (failed_run.path / "run/bodies.tar").open("rb") as bodies:
        fcntl.flock(bodies, fcntl.LOCK_EX)
        failed_run.write({"a": sh("echo another >> effects")}, name="another")
        result = failed_run.forum("run", "another.yaml", "--out", "run")

    assert result.code == 2
    assert "another process or writer is already writing 'run'" in result.err
    assert bytes_in(failed_run.path / "run") == before
    assert failed_run.lines("effects") == ["x"]


def test_only_one_of_several_simultaneous_runs_gets_the_directory(folder: Folder) -> None:
    folder.write(
        {"a": sh("echo ${{ inputs.word }} | tee -a effects")}, inputs={"word": {"type": "string"}}, outputs={"a": "a"}
    )
    command = ("run", "workflow.yaml", "--out", "run", "--progress", "none", "--input")

    processes = [folder.start(*command, f"word={number}") for number in range(6)]
    errors = [process.communicate()[1].decode() for process in processes]

    codes = [process.returncode for process in processes]
    assert sorted(codes) == [0, 2, 2, 2, 2, 2], errors
    word = str(codes.index(0))
    assert folder.lines("effects") == [word]
    assert json.loads(folder.read("run/invocation.json"))["inputs"] == {"word": word}
    assert folder.read("run/outputs/a.txt") == word
    check_valid(folder.path / "run")
