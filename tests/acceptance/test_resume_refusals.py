"""`forum resume` and `forum replay` of what they cannot go on with, or tell again: one sentence, and nothing else."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acceptance.samples import SAMPLES, imported
from acceptance.workflow_folder import Folder, Result, bytes_in, check_valid, sh
from forum_runner.ledger import create_ledger

Form = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


@pytest.fixture
def decided(folder: Folder) -> Folder:
    """A run that was paused at a gate, and can go on."""
    folder.write({"a": sh("echo a"), "b": sh("cat", needs=["a"], gate={"question": "Go?"})}, outputs={"b": "b"})
    assert folder.run().code == 5
    assert folder.forum("gate", "approve", "run", "b", "--by", "ann").code == 0
    return folder


def resumed(folder: Folder, progress: str) -> Result:
    return folder.forum("resume", "run", "--progress", progress)


@pytest.mark.parametrize("progress", ["plain", "json", "tty"])
def test_nothing_is_shown_of_a_run_that_was_tampered_with(decided: Folder, progress: str) -> None:
    ledger = decided.path / "run/ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].replace(b'"reason":"gate"', b'"reason":"interrupted"')
    ledger.write_bytes(b"".join(lines))
    before = bytes_in(decided.path)

    result = resumed(decided, progress)

    assert (result.code, result.out, result.err.count("\n")) == (3, "", 1), result
    assert result.err.startswith(f"forum: the ledger in 'run' does not hold at entry {len(lines) - 1}: L201 ")
    assert bytes_in(decided.path) == before


@pytest.mark.parametrize("progress", ["plain", "json", "tty"])
def test_nothing_is_shown_of_a_run_that_another_process_writes(decided: Folder, progress: str) -> None:
    with (decided.path / "run/ledger.jsonl").open("rb") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        result = resumed(decided, progress)

    told = "forum: another process or writer is already writing 'run'\n"
    assert result == Result(2, "", told)


def test_what_earlier_processes_did_counts_in_what_is_shown(decided: Folder) -> None:
    result = resumed(decided, "plain")

    lines = [line.partition("] ")[2] for line in result.err.splitlines()]
    assert result.code == 0, result
    assert "workflow: 2 tasks in 2 waves" in lines
    assert any(line.startswith("finished: passed (2 passed), 2 calls") for line in lines), lines
    check_valid(decided.path / "run")


def test_a_beginning_that_was_killed_is_no_run_to_go_on_with(folder: Folder) -> None:
    (folder.path / "run").mkdir(parents=True)
    for name in ("ledger.jsonl", "bodies.tar"):
        (folder.path / "run" / name).touch()

    results = [folder.forum(command, "run") for command in ("resume", "replay")]

    assert results == [Result(2, "", "forum: the ledger in 'run' has no entry: no run has started there\n")] * 2


def test_a_ledger_without_a_plan_is_neither_gone_on_with_nor_told_again(folder: Folder) -> None:
    folder.path.mkdir()
    imported(folder, SAMPLES["otel-older"], "imported")
    with create_ledger(folder.path / "own") as ledger:
        ledger.append("x-note", {"text": "mine"})

    for name in ("imported", "own"):
        replayed, gone_on = folder.forum("replay", name), folder.forum("resume", name)
        assert replayed == gone_on == Result(2, "", f"forum: '{name}' is not a run of a plan\n")


def _without(name: str) -> Callable[[Form], Form]:
    return lambda form: {key: value for key, value in form.items() if key != name}


def _with(name: str, value: Any) -> Callable[[Form], Form]:
    return lambda form: {**form, name: value}


EDITS: dict[str, tuple[Callable[[Form], Any], str]] = {
    "a list": (lambda _: [], "it is not an object"),
    "a number": (lambda _: 7, "it is not an object"),
    "no root": (_without("root"), "it has no 'root'"),
    "no script": (_without("script"), "it has no 'script'"),
    "no selection": (_without("selected"), "it has no 'selected'"),
    "an empty root": (_with("root", ""), "'root' is not a path"),
    "a workflow that is a list": (_with("workflow", ["x"]), "'workflow' is not a path"),
    "a base that is a number": (_with("base", 1), "'base' is not a path or null"),
    "answers that are texts": (_with("answers", ["x"]), "'answers' is not a list of objects or null"),
    "a text of tasks": (_with("among", "a"), "'among' is not a list of names or null"),
    "inputs that are numbers": (_with("inputs", {"a": 1}), "'inputs' is not an object of strings"),
    "a selection of another kind": (
        _with("selected", {"after": ["a"]}),
        "'selected' is not an object with lists of names: only, start, until",
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_an_invocation_that_was_edited_wrongly_is_named_with_what_is_wrong(decided: Folder, case: str) -> None:
    edit, fault = EDITS[case]
    path = decided.path / "run/invocation.json"
    path.write_text(json.dumps(edit(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")

    results = [decided.forum("resume", "run", *options) for options in ([], ["--failed", "--out", "second"])]

    told = f"forum: 'run/invocation.json' was altered: {fault}\n"
    assert results == [Result(2, "", told)] * 2
    assert not (decided.path / "second").exists()


def test_an_invocation_that_is_not_json_or_not_there_is_said_so(decided: Folder) -> None:
    path = decided.path / "run/invocation.json"
    path.write_text("{root: here}", encoding="utf-8")
    broken = decided.forum("resume", "run")
    path.unlink()
    missing = decided.forum("resume", "run")

    assert (broken.code, missing.code) == (2, 2)
    assert broken.err.startswith("forum: 'run/invocation.json' was altered: it is not JSON: ")
    assert missing.err == (
        "forum: 'run' has no invocation.json, which says how the run was started; copy it from the original run, "
        "and use --root if its files have moved\n"
    )
