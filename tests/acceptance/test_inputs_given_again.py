"""The inputs of a run that goes on: secret ones are given again, also in a file, and all others are as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.workflow_folder import Folder, all_bytes_in, bytes_in, check_valid, sh

WORD = "correct-horse-battery"
INPUTS = {
    "token": {"type": "string", "secret": True},
    "pin": {"type": "integer", "secret": True},
    "keys": {"type": "object", "secret": True},
    "word": {"type": "string", "default": "one"},
    "count": {"type": "integer"},
}
FILE = f"token: {WORD}\npin: 123456\nkeys: {{first: alpha-alpha}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A run that was paused at a gate, and can go on with its secrets. Its programs say whether they are the same."""
    folder = Folder(tmp_path / "work")
    given = "${{ inputs.token }} ${{ inputs.pin }} ${{ inputs.keys }}"
    same = {"agent": "operator", "run": ["sh", "-c", 'test "$1" = "$(cat expected)"', "sh", given]}
    folder.write({"a": {**same, "gate": {"question": "Go?"}}, "b": sh("echo ${{ inputs.count }}")}, inputs=INPUTS)
    (folder.path / "expected").write_text(f'{WORD} 123456 {{"first":"alpha-alpha"}}', encoding="utf-8")
    (folder.path / "inputs.yaml").write_text(f"{FILE}count: 3\n", encoding="utf-8")
    assert folder.run("--inputs", "inputs.yaml").code == 5
    assert folder.forum("gate", "approve", "run", "a", "--by", "ann").code == 0
    return folder


@pytest.mark.parametrize("others", ["", "count: 3\n", "count: 3\nword: one\n"], ids=["alone", "one", "all"])
def test_secrets_are_taken_from_a_file_and_others_may_stand_there_as_they_were(folder: Folder, others: str) -> None:
    (folder.path / "again.yaml").write_text(FILE + others, encoding="utf-8")

    result = folder.forum("resume", "run", "--inputs", "again.yaml", "--progress", "none")

    assert result.code == 0, result
    assert WORD.encode() not in all_bytes_in(folder.path / "run")
    check_valid(folder.path / "run")


def test_a_text_goes_before_the_file_and_is_read_as_when_a_run_begins(folder: Folder) -> None:
    (folder.path / "again.yaml").write_text(FILE.replace("123456", "999999"), encoding="utf-8")
    texts = ["--input", "pin=123456", "--input", "keys={first: alpha-alpha}", "--input", "count=3"]

    result = folder.forum("resume", "run", "--inputs", "again.yaml", *texts, "--progress", "none")

    assert result.code == 0, result


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (
            f"{FILE}count: 4",
            "the input 'count' differs from the one that the run started with; a resumed run keeps its inputs",
        ),
        (f"{FILE}word: 'two'", "the input 'word' differs from the one that the run started with"),
        (f"{FILE}count: '3'", "the input 'count' differs from the one that the run started with"),
        (f"{FILE}cuont: 3", "the run has no input 'cuont'; did you mean 'count'?"),
        (FILE.replace("123456", "none"), "input 'pin' does not match its schema; its value is secret"),
        ("pin: 123456", "the secret input 'keys' has no value; give it in a file with --inputs FILE"),
        ("- token", "cannot read inputs from 'again.yaml', line 1: a file of inputs must be a mapping"),
    ],
)
def test_what_is_not_as_it_was_is_named_and_nothing_is_done(folder: Folder, written: str, sentence: str) -> None:
    (folder.path / "again.yaml").write_text(written, encoding="utf-8")
    before = bytes_in(folder.path)

    result = folder.forum("resume", "run", "--inputs", "again.yaml", "--progress", "none")

    assert (result.code, sentence in result.err) == (2, True), result
    assert WORD not in result.err
    assert bytes_in(folder.path) == before


def test_a_file_that_is_not_there_is_said_so(folder: Folder) -> None:
    result = folder.forum("resume", "run", "--inputs", "nowhere.yaml", "--progress", "none")

    assert result.code == 2
    assert result.err.startswith("forum: cannot read inputs from 'nowhere.yaml': "), result
