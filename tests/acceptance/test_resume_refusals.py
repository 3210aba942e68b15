"""`forum resume` and `forum replay` refuse runs that they cannot read, with one message and no other output."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acceptance.samples import SAMPLES, import_sample
from acceptance.workflow_folder import Folder, Result, bytes_in, check_valid, sh
from forum_runner.ledger import create_ledger

Fields = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


@pytest.fixture
def approved_run(folder: Folder) -> Folder:
    """A run that was paused at a gate. The gate is approved, so the run can be resumed."""
    folder.write({"a": sh("echo a"), "b": sh("cat", needs=["a"], gate={"question": "Go?"})}, outputs={"b": "b"})
    assert folder.run().code == 5
    assert folder.forum("gate", "approve", "run", "b", "--by", "ann").code == 0
    return folder


def resume(folder: Folder, progress: str) -> Result:
    return folder.forum("resume", "run", "--progress", progress)


@pytest.mark.parametrize("progress", ["plain", "json", "tty"])
def test_an_altered_run_is_refused_without_progress_output(approved_run: Folder, progress: str) -> None:
    ledger = approved_run.path / "run/ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].replace(b'"reason":"gate"', b'"reason":"interrupted"')
    ledger.write_bytes(b"".join(lines))
    before = bytes_in(approved_run.path)

    result = resume(approved_run, progress)

    assert (result.code, result.out, result.err.count("\n")) == (3, "", 1), result
    assert result.err.startswith(f"forum: the ledger in 'run' is invalid at entry {len(lines) - 1}: L201 ")
    assert bytes_in(approved_run.path) == before


@pytest.mark.parametrize("progress", ["plain", "json", "tty"])
def test_a_locked_run_is_refused_without_progress_output(approved_run: Folder, progress: str) -> None:
    with (approved_run.path / "run/ledger.jsonl").open("rb") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        result = resume(approved_run, progress)

    message = "forum: another process or writer is already writing 'run'\n"
    assert result == Result(2, "", message)


def test_a_malformed_checkpoint_is_the_reason_why_an_unfinished_run_is_refused(approved_run: Folder) -> None:
    (approved_run.path / "run/checkpoint").write_text("mine", encoding="utf-8")

    result = resume(approved_run, "none")

    assert result.code == 3
    assert result.err.startswith("forum: the ledger in 'run' is invalid: L506 the checkpoint is malformed: ")


def test_a_file_name_cannot_add_a_line_to_a_message(approved_run: Folder) -> None:
    assert resume(approved_run, "none").code == 0
    (approved_run.path / "run/outputs/a\nvalid run").touch()

    results = [approved_run.forum(command, "run") for command in ("resume", "replay")]

    message = (
        "forum: the ledger in 'run' is invalid: L308 outputs/a\N{REPLACEMENT CHARACTER}valid run is not an output of "
    )
    assert results == [Result(3, "", f"{message}this run\n")] * 2


def test_the_summary_of_a_resumed_run_includes_earlier_work(approved_run: Folder) -> None:
    result = resume(approved_run, "plain")

    lines = [line.partition("] ")[2] for line in result.err.splitlines()]
    assert result.code == 0, result
    assert "workflow: 2 tasks in 2 waves" in lines
    assert any(line.startswith("finished: passed (2 passed), 2 calls") for line in lines), lines
    check_valid(approved_run.path / "run")


def test_a_start_that_was_killed_leaves_no_run_to_resume(folder: Folder) -> None:
    (folder.path / "run").mkdir(parents=True)
    for name in ("ledger.jsonl", "bodies.tar"):
        (folder.path / "run" / name).touch()

    results = [folder.forum(command, "run") for command in ("resume", "replay")]

    assert results == [Result(2, "", "forum: the ledger in 'run' has no entry: no run has started there\n")] * 2


def test_a_ledger_without_a_plan_can_be_neither_resumed_nor_replayed(folder: Folder) -> None:
    folder.path.mkdir()
    import_sample(folder, SAMPLES["otel-older"], "imported")
    with create_ledger(folder.path / "own") as ledger:
        ledger.append("x-note", {"text": "mine"})

    for name in ("imported", "own"):
        replayed, resumed = folder.forum("replay", name), folder.forum("resume", name)
        assert (
            replayed
            == resumed
            == Result(2, "", f"forum: '{name}' is not a run of a workflow: its ledger has no wave plan\n")
        )


def _remove(name: str) -> Callable[[Fields], Fields]:
    return lambda invocation: {key: value for key, value in invocation.items() if key != name}


def _set(name: str, value: Any) -> Callable[[Fields], Fields]:
    return lambda invocation: {**invocation, name: value}


EDITS: dict[str, tuple[Callable[[Fields], Any], str]] = {
    "a list": (lambda _: [], "Expected `object`, got `array`"),
    "a number": (lambda _: 7, "Expected `object`, got `int`"),
    "no root": (_remove("root"), "Object missing required field `root`"),
    "no script": (_remove("script"), "Object missing required field `script`"),
    "no selection": (_remove("selected"), "Object missing required field `selected`"),
    "an empty root": (_set("root", ""), "Expected a path - at `$.root`"),
    "a workflow that is a list": (_set("workflow", ["x"]), "Expected `str`, got `array` - at `$.workflow`"),
    "a base that is a number": (_set("base", 1), "Expected a path - at `$.base`"),
    "answers that are strings": (_set("answers", ["x"]), "Expected `object`, got `str` - at `$.answers[0]`"),
    "an answer without a reply": (
        _set("answers", [{"task": "b"}]),
        """/answers/0: {"task":"b"} is not valid under any of the schemas listed in the 'oneOf' keyword""",
    ),
    "tasks that are a string": (_set("among", "a"), "Expected `array | null`, got `str` - at `$.among`"),
    "inputs that are numbers": (_set("inputs", {"a": 1}), "Expected `str`, got `int` - at `$.inputs[...]`"),
    "an unknown selection": (
        _set("selected", {"after": ["a"]}),
        "Expected `str` matching regex '^(only|start|until)\\\\Z' - at `key` in `$.selected`",
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_an_invalid_invocation_is_refused_with_the_fault(approved_run: Folder, case: str) -> None:
    edit, fault = EDITS[case]
    path = approved_run.path / "run/invocation.json"
    path.write_text(json.dumps(edit(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")

    results = [approved_run.forum("resume", "run", *options) for options in ([], ["--failed", "--out", "second"])]

    message = f"forum: 'run/invocation.json' was altered: {fault}\n"
    assert results == [Result(2, "", message)] * 2
    assert not (approved_run.path / "second").exists()


@pytest.mark.parametrize("command", [["resume", "run"], ["resume", "run", "--failed", "--out", "second"]])
@pytest.mark.parametrize("mode", ["live", "scripted", "deterministic"])
def test_an_invocation_that_contradicts_the_mode_of_the_run_is_refused(
    folder: Folder, mode: str, command: list[str]
) -> None:
    answers = [{"task": "a", "output": "x"}]
    folder.write({"a": sh("touch called", gate={"question": "Go?"})}, answers=answers)
    assert folder.run(*([] if mode == "live" else [f"--{mode}"])).code == 5
    path = folder.path / "run/invocation.json"
    altered = {**json.loads(path.read_text(encoding="utf-8")), "answers": answers if mode == "live" else None}
    path.write_text(json.dumps(altered), encoding="utf-8")

    result = folder.forum(*command)

    fault = f"it {'has' if mode == 'live' else 'lacks'} answers, but the run is {mode}"
    assert result == Result(2, "", f"forum: 'run/invocation.json' was altered: {fault}\n")
    assert not (folder.path / "called").exists()


def test_an_invocation_that_is_a_pipe_is_refused(approved_run: Folder) -> None:
    replace_by_pipe(approved_run.path / "run/invocation.json")

    result = approved_run.forum("resume", "run")

    assert result == Result(2, "", "forum: 'run/invocation.json' was altered: it is not a regular file\n")


@pytest.mark.parametrize("name", ["run/wave-plan.json", "workflow.yaml"])
def test_a_pipe_in_place_of_a_file_does_not_block_a_resumed_run(approved_run: Folder, name: str) -> None:
    replace_by_pipe(approved_run.path / name)

    assert resume(approved_run, "none").code == 0
    check_valid(approved_run.path / "run")


def test_a_resumed_run_writes_nothing_outside_its_directory(approved_run: Folder, tmp_path: Path) -> None:
    outputs = approved_run.path / "run/outputs"
    outputs.mkdir()
    (outputs / "b.txt").symlink_to(tmp_path / "outside")

    assert resume(approved_run, "none").code == 0
    assert not (tmp_path / "outside").exists()
    check_valid(approved_run.path / "run")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def test_an_invocation_that_is_malformed_or_missing_is_reported(approved_run: Folder) -> None:
    path = approved_run.path / "run/invocation.json"
    path.write_text("{root: here}", encoding="utf-8")
    broken = approved_run.forum("resume", "run")
    path.unlink()
    missing = approved_run.forum("resume", "run")

    assert (broken.code, missing.code) == (2, 2)
    assert broken.err.startswith("forum: 'run/invocation.json' was altered: JSON is malformed: ")
    assert missing.err == (
        "forum: 'run' has no invocation.json, which records how the run was started; copy it from the original run "
        "directory; if the workflow has moved, use --root\n"
    )
