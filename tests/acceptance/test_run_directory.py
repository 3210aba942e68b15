"""`--out` of `forum run`, `forum resume --failed` and `forum import`: a run is given a directory of its own."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from acceptance.samples import SAMPLES
from acceptance.workflow_folder import Folder, Result, bytes_in, check_valid, sh

OWN = "already exists; choose an empty directory"
# What somebody may keep in a directory, and which of it is named.
HELD: dict[str, tuple[Mapping[str, str], str]] = {
    "files of the same names": (
        {"checkpoint": "mine", "invocation.json": "{}", "wave-plan.json": "mine"},
        "checkpoint",
    ),
    "outputs": ({"invocation.json": "{}", "outputs/mine.txt": "mine"}, "invocation.json"),
    "a file in place of the outputs": ({"outputs": "mine"}, "outputs"),
    "something else": ({".hidden": ""}, ".hidden"),
    "bodies": ({"bodies.tar": "mine", "ledger.jsonl": ""}, "bodies.tar"),
    "a ledger": ({"bodies.tar": "mine", "ledger.jsonl": "mine\n"}, "ledger.jsonl"),
    "a file beside what was left behind": ({"bodies.tar": "", "ledger.jsonl": "", "notes": "mine"}, "notes"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def put(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def begin(folder: Folder, command: str, out: str) -> Result:
    """A new run in `out`, by one of the three commands."""
    if command == "import":
        return folder.forum("import", SAMPLES["otel-older"], "--out", out)
    if command == "resume":
        return folder.forum("resume", "first", "--failed", "--out", out)
    return folder.run(out=out)


@pytest.fixture
def begun(folder: Folder) -> Folder:
    """A folder with a run to go on from; whatever runs leaves a trace."""
    folder.write({"a": sh("echo x >> effects; exit 1")})
    assert folder.run(out="first").code == 1
    return folder


@pytest.mark.parametrize("command", ["run", "resume", "import"])
@pytest.mark.parametrize("case", HELD)
def test_a_directory_that_holds_anything_is_refused_and_left_as_it_is(begun: Folder, case: str, command: str) -> None:
    files, named = HELD[case]
    put(begun.path / "own", files)
    before = bytes_in(begun.path)

    result = begin(begun, command, "own")

    assert (result.code, result.err.splitlines()[-1]) == (2, f"forum: 'own/{named}' {OWN}")
    assert bytes_in(begun.path) == before
    assert begun.lines("effects") == ["x"]


@pytest.mark.parametrize("command", ["run", "resume", "import"])
def test_an_empty_name_is_no_name_of_a_directory(begun: Folder, command: str) -> None:
    before = bytes_in(begun.path)

    result = begin(begun, command, "")

    assert result.code == 2
    assert result.err.endswith("forum: Invalid value for '--out': the name of the directory is empty\n")
    assert bytes_in(begun.path) == before


def test_an_empty_directory_will_do_and_so_will_the_current_one(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "work")
    folder.write({"a": sh("echo x")})
    here = Folder(tmp_path / "here")
    (here.path / "made").mkdir(parents=True)

    made = here.forum("run", "../work/workflow.yaml", "--out", "made")
    (here.path / "made").rename(tmp_path / "made")
    current = here.forum("run", "../work/workflow.yaml", "--out", ".")

    assert (made.code, current.code) == (0, 0), (made, current)
    check_valid(tmp_path / "made")
    check_valid(here.path)


EMPTY = {"bodies.tar": "", "ledger.jsonl": ""}


@pytest.mark.parametrize("left", [["bodies.tar"], ["bodies.tar", "ledger.jsonl"], [*EMPTY, "invocation.json"]])
def test_what_a_beginning_that_was_killed_left_behind_is_taken_over(folder: Folder, left: list[str]) -> None:
    folder.write({"a": sh("echo ${{ inputs.word }}")}, inputs={"word": {"type": "string"}})
    assert folder.run("--input", "word=one", out="first").code == 0
    put(folder.path / "run", {**EMPTY, "invocation.json": folder.read("first/invocation.json")})
    for name in {"invocation.json", *EMPTY} - set(left):
        (folder.path / "run" / name).unlink()

    result = folder.run("--input", "word=two")

    assert result.code == 0, result
    assert json.loads(folder.read("run/invocation.json"))["inputs"] == {"word": "two"}
    check_valid(folder.path / "run")


def test_an_import_leaves_no_invocation_of_another_beside_its_ledger(begun: Folder) -> None:
    put(begun.path / "empty", EMPTY)
    put(begun.path / "own", {**EMPTY, "invocation.json": begun.read("first/invocation.json")})
    before = bytes_in(begun.path / "own")

    results = [begin(begun, "import", out) for out in ("empty", "own")]

    assert [result.code for result in results] == [0, 2], results
    assert results[1].err == f"forum: 'own/invocation.json' {OWN}\n"
    assert bytes_in(begun.path / "own") == before


def test_whoever_comes_second_leaves_the_files_of_the_first_alone(begun: Folder) -> None:
    """As far as a process has come that has locked the files, and has not written its first entry yet."""
    put(begun.path / "run", {**EMPTY, "invocation.json": begun.read("first/invocation.json")})
    before = bytes_in(begun.path / "run")

    with (begun.path / "run/bodies.tar").open("rb") as bodies:
        fcntl.flock(bodies, fcntl.LOCK_EX)
        begun.write({"a": sh("echo another >> effects")}, name="another")
        result = begun.forum("run", "another.yaml", "--out", "run")

    assert result.code == 2
    assert "another process or writer is already writing 'run'" in result.err
    assert bytes_in(begun.path / "run") == before
    assert begun.lines("effects") == ["x"]


def test_of_many_that_begin_in_one_directory_at_once_one_does(folder: Folder) -> None:
    folder.write(
        {"a": sh("echo ${{ inputs.word }} | tee -a effects")}, inputs={"word": {"type": "string"}}, outputs={"a": "a"}
    )
    begin = ("run", "workflow.yaml", "--out", "run", "--progress", "none", "--input")

    processes = [folder.start(*begin, f"word={number}") for number in range(6)]
    said = [process.communicate()[1].decode() for process in processes]

    codes = [process.returncode for process in processes]
    assert sorted(codes) == [0, 2, 2, 2, 2, 2], said
    word = str(codes.index(0))
    assert folder.lines("effects") == [word]
    assert json.loads(folder.read("run/invocation.json"))["inputs"] == {"word": word}
    assert folder.read("run/outputs/a.txt") == word
    check_valid(folder.path / "run")
