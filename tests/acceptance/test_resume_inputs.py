"""A resumed run needs its secret inputs again, and keeps the values of all other inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.workflow_folder import Folder, all_bytes_in, bytes_in, check_valid, sh

TOKEN = "correct-horse-battery"  # noqa: S105 - made up
INPUTS = {
    "token": {"type": "string", "secret": True},
    "pin": {"type": "integer", "secret": True},
    "keys": {"type": "object", "secret": True},
    "word": {"type": "string", "default": "one"},
    "count": {"type": "integer"},
}
SECRETS = f"token: {TOKEN}\npin: 123456\nkeys: {{first: alpha-alpha}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A paused run with an approved gate. Its task fails unless it gets the same secrets again."""
    folder = Folder(tmp_path / "work")
    rendered = "${{ inputs.token }} ${{ inputs.pin }} ${{ inputs.keys }}"
    compare = {"agent": "operator", "run": ["sh", "-c", 'test "$1" = "$(cat expected)"', "sh", rendered]}
    folder.write({"a": {**compare, "gate": {"question": "Go?"}}, "b": sh("echo ${{ inputs.count }}")}, inputs=INPUTS)
    (folder.path / "expected").write_text(f'{TOKEN} 123456 {{"first":"alpha-alpha"}}', encoding="utf-8")
    (folder.path / "inputs.yaml").write_text(f"{SECRETS}count: 3\n", encoding="utf-8")
    assert folder.run("--inputs", "inputs.yaml").code == 5
    assert folder.forum("gate", "approve", "run", "a", "--by", "ann").code == 0
    return folder


@pytest.mark.parametrize(
    "other_inputs", ["", "count: 3\n", "count: 3\nword: one\n"], ids=["secrets", "secrets and one", "all"]
)
def test_secrets_are_read_from_a_file_that_may_repeat_unchanged_inputs(folder: Folder, other_inputs: str) -> None:
    (folder.path / "again.yaml").write_text(SECRETS + other_inputs, encoding="utf-8")

    result = folder.forum("resume", "run", "--inputs", "again.yaml", "--progress", "none")

    assert result.code == 0, result
    assert TOKEN.encode() not in all_bytes_in(folder.path / "run")
    check_valid(folder.path / "run")


def test_input_options_override_the_file_and_are_parsed_as_in_run(folder: Folder) -> None:
    (folder.path / "again.yaml").write_text(SECRETS.replace("123456", "999999"), encoding="utf-8")
    texts = ["--input", "pin=123456", "--input", "keys={first: alpha-alpha}", "--input", "count=3"]

    result = folder.forum("resume", "run", "--inputs", "again.yaml", *texts, "--progress", "none")

    assert result.code == 0, result


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            f"{SECRETS}count: 4",
            "the input 'count' differs from its value when the run started; a resumed run keeps its inputs",
        ),
        (f"{SECRETS}word: 'two'", "the input 'word' differs from its value when the run started"),
        (f"{SECRETS}count: '3'", "the input 'count' differs from its value when the run started"),
        (f"{SECRETS}cuont: 3", "the run has no input 'cuont'; did you mean 'count'?"),
        (
            SECRETS.replace("123456", "none"),
            "input 'pin' does not match its schema (its value is secret, so it is not shown)",
        ),
        ("pin: 123456", "the secret input 'keys' has no value; pass it in a file with --inputs FILE"),
        ("- token", "cannot read inputs from 'again.yaml', line 1: an inputs file must be a mapping"),
    ],
)
def test_a_changed_or_invalid_input_is_named_and_nothing_runs(folder: Folder, content: str, message: str) -> None:
    (folder.path / "again.yaml").write_text(content, encoding="utf-8")
    before = bytes_in(folder.path)

    result = folder.forum("resume", "run", "--inputs", "again.yaml", "--progress", "none")

    assert (result.code, message in result.err) == (2, True), result
    assert TOKEN not in result.err
    assert bytes_in(folder.path) == before


def test_a_missing_inputs_file_is_reported(folder: Folder) -> None:
    result = folder.forum("resume", "run", "--inputs", "nowhere.yaml", "--progress", "none")

    assert result.code == 2
    assert result.err.startswith("forum: cannot read inputs from 'nowhere.yaml': "), result
