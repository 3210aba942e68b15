"""`forum resume` keeps finished work and runs only changed tasks again, each with a reported reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, bytes_in, check_valid, sh, truncate_after

ANSWERS = [{"output": "an answer", "usage": {"input_tokens": 10, "output_tokens": 5}}]
INPUTS = {"style": {"type": "string", "default": "plain"}, "size": {"type": "integer", "default": 1}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


class Bundle:
    """A workflow with a diamond of tasks, an independent task, and a last task that depends on both."""

    def __init__(self) -> None:
        self.tasks: dict[str, Any] = {
            "source": ask("Gather in ${{ inputs.style }} style."),
            "left": ask("Take the left of it.", needs=["source"]),
            "right": ask("Take the right of it, ${{ inputs.size }} times.", needs=["source"]),
            "join": ask("Join them.", needs=["left", "right"]),
            "beside": {"agent": "critic", "instruction": "Look elsewhere."},
            "last": ask("End it.", needs=["join", {"task": "beside", "edge": "order"}]),
        }
        self.roster: dict[str, Any] = deepcopy(MODEL)
        self.roster["adapters"]["other"] = {**MODEL["adapters"]["model"]}
        self.roster["agents"]["critic"] = {"adapter": "other"}
        self.answers: list[Mapping[str, Any]] = list(ANSWERS)

    def write(self, folder: Folder) -> None:
        folder.write(self.tasks, roster=self.roster, inputs=INPUTS, answers=self.answers)


def _change_nothing(_: Bundle) -> None:
    pass


def _change_instruction(bundle: Bundle) -> None:
    bundle.tasks["left"]["instruction"] = "Take the far left of it."


def _change_agent(bundle: Bundle) -> None:
    bundle.tasks["right"]["agent"] = "critic"


def _change_model(bundle: Bundle) -> None:
    bundle.roster["adapters"]["other"]["model"] = "large"


def _add_persona(bundle: Bundle) -> None:
    bundle.roster["agents"]["critic"]["persona"] = "You doubt."


def _add_need(bundle: Bundle) -> None:
    bundle.tasks["join"]["needs"] = ["left", "right", "source"]


def _change_upstream_output(bundle: Bundle) -> None:
    bundle.tasks["source"]["instruction"] = "Gather more."
    bundle.answers.insert(0, {"task": "source", "output": "another answer"})


def _change_instruction_but_not_output(bundle: Bundle) -> None:
    """The output has the same bytes, so downstream tasks get the same input."""
    bundle.tasks["source"]["instruction"] = "Gather more."


def _add_done_when(bundle: Bundle) -> None:
    bundle.tasks["beside"]["done_when"] = ["it is short"]


def _change_irrelevant_fields(bundle: Bundle) -> None:
    """None of these fields affects the result."""
    bundle.tasks["left"] |= {"x-note": "mine", "budget": {"calls": 9}, "retry": {"attempts": 3}, "idempotent": True}
    bundle.roster["adapters"]["model"] |= {"timeout": "3m"}


Change = Callable[[Bundle], None]
CHANGES: list[tuple[Change, list[str], set[str], str]] = [
    (_change_nothing, [], set(), ""),
    (_change_instruction, [], {"left"}, "left: run (its instruction changed)"),
    (_change_agent, [], {"right"}, "right: run (its agent changed)"),
    (_change_model, [], {"beside"}, "beside: run (its model changed)"),
    (_add_persona, [], {"beside"}, "beside: run (its agent or adapter changed)"),
    (_add_need, [], {"join"}, "join: run (its needs changed)"),
    (_change_upstream_output, [], {"source", "left", "right"}, "left: run (its input 'source' changed)"),
    (_change_instruction_but_not_output, [], {"source"}, "source: run (its instruction changed)"),
    (_add_done_when, [], {"beside"}, "beside: run (its done_when changed)"),
    (_change_irrelevant_fields, [], set(), ""),
    (_change_nothing, ["--input", "style=grand"], {"source"}, "source: run (its instruction changed)"),
    (_change_nothing, ["--input", "size=2"], {"right"}, "right: run (its instruction changed)"),
]


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run in which only the last task failed."""
    folder = Folder(tmp_path_factory.mktemp("first"))
    bundle = Bundle()
    bundle.answers.insert(0, {"task": "last", "error": {"kind": "auth"}})
    bundle.write(folder)
    assert folder.run("--deterministic").code == 1
    return folder


@pytest.mark.parametrize(
    ("change", "arguments", "rerun", "reason"),
    CHANGES,
    ids=[f"{change.__name__.strip('_')}{''.join(arguments[1:])}" for change, arguments, _, _ in CHANGES],
)
def test_exactly_the_tasks_affected_by_a_change_run_again(
    failed_run: Folder, folder: Folder, change: Change, arguments: list[str], rerun: set[str], reason: str
) -> None:
    shutil.copytree(failed_run.path, folder.path)
    _set_root(folder)
    bundle = Bundle()
    change(bundle)
    bundle.write(folder)

    result = folder.forum("resume", "run", "--failed", "--out", "second", "--progress", "none", *arguments)

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {*rerun, "last"}
    assert folder.reused_tasks("second") == {"source", "left", "right", "join", "beside"} - rerun
    assert reason in result.err
    assert "last: run (its state in that run is failed)" in result.err
    reported = {
        line.strip().partition(":")[0] for line in result.err.splitlines() if ": run (" in line or ": reused (" in line
    }
    assert reported == set(folder.task_states("second"))


def _set_root(folder: Folder) -> None:
    """Point the invocation at the folder to which the run was copied."""
    path = folder.path / "run/invocation.json"
    invocation = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**invocation, "root": str(folder.path)}), encoding="utf-8")


def test_the_new_run_names_its_origin_and_the_old_one_is_unchanged(failed_run: Folder, folder: Folder) -> None:
    shutil.copytree(failed_run.path, folder.path)
    _set_root(folder)
    Bundle().write(folder)
    before = bytes_in(folder.path / "run")

    folder.forum("resume", "run", "--failed", "--out", "second")

    assert bytes_in(folder.path / "run") == before
    verified = folder.forum("verify", "run", "--json").document()
    assert folder.entries("second")[0]["data"]["from"] == {"run": verified["run"], "head": verified["head"]}
    assert {entry["data"]["run"] for entry in folder.entries("second", "task.reused")} == {verified["run"]}
    check_valid(folder.path / "second")


def test_a_damaged_ledger_is_refused(failed_run: Folder, folder: Folder) -> None:
    shutil.copytree(failed_run.path, folder.path)
    ledger = folder.path / "run/ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))
    before = bytes_in(folder.path)

    results = [folder.forum("resume", "run", *options) for options in ([], ["--failed", "--out", "second"])]

    assert [result.code for result in results] == [3, 3], results
    assert all("is invalid at entry" in result.err for result in results)
    assert bytes_in(folder.path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no file, directory or run 'nowhere'"),
        (["run/ledger.jsonl"], "is a bare ledger: resuming needs the run directory"),
        (["run", "--out", "there"], "--out requires --failed"),
        (["run", "--failed", "--out", "run"], "'run/ledger.jsonl' already exists"),
        (["run", "--failed", "--root", "nowhere"], "the folder 'nowhere' does not exist"),
    ],
)
def test_an_impossible_request_is_refused_and_changes_nothing(
    failed_run: Folder, arguments: list[str], message: str
) -> None:
    before = bytes_in(failed_run.path)

    result = failed_run.forum("resume", *arguments)

    assert (result.code, message in result.err) == (2, True), result
    assert bytes_in(failed_run.path) == before


def test_an_input_that_is_not_secret_cannot_be_changed(folder: Folder) -> None:
    inputs = {"word": {"type": "string"}}
    folder.write({"a": sh("echo ${{ inputs.word }}", gate={"question": "?"})}, inputs=inputs)
    paused = folder.run("--input", "word=one")
    before = bytes_in(folder.path / "run")

    result = folder.forum("resume", "run", "--input", "word=two")

    assert (paused.code, result.code) == (5, 2)
    assert "the input 'word' differs from its value when the run started; a resumed run keeps its inputs" in result.err
    assert bytes_in(folder.path / "run") == before


def test_edited_files_do_not_affect_a_resumed_run(folder: Folder) -> None:
    folder.write({"a": sh("echo one", gate={"question": "?"})}, outputs={"a": "a"})
    folder.run()
    folder.forum("gate", "approve", "run", "a", "--by", "ann")
    folder.write({"a": sh("echo two")}, outputs={"a": "a"})

    result = folder.forum("resume", "run")

    assert (result.code, folder.read("run/outputs/a.txt")) == (0, "one"), result
    check_valid(folder.path / "run")


def test_moved_files_are_found_with_root(folder: Folder) -> None:
    folder.write({"a": sh("cat here.txt", gate={"question": "?"})}, outputs={"a": "a"})
    (folder.path / "here.txt").write_text("found", encoding="utf-8")
    folder.run()
    folder.forum("gate", "approve", "run", "a", "--by", "ann")
    moved = Folder(folder.path.parent / "moved")
    folder.path.rename(moved.path)

    without_root = moved.forum("resume", "run")
    result = moved.forum("resume", "run", "--root", ".")

    assert (without_root.code, result.code) == (2, 0), (without_root, result)
    assert "pass its location with --root DIR" in without_root.err
    assert moved.read("run/outputs/a.txt") == "found"


def test_resuming_a_run_with_recorded_answers_keeps_using_them(folder: Folder) -> None:
    """A run that makes no calls must not make calls when it is resumed."""
    folder.write({"a": sh("echo x >> effects; echo a"), "b": sh("cat", needs=["a"], gate={"question": "?"})})
    folder.run(out="first")
    folder.forum("gate", "approve", "first", "b", "--by", "ann")
    folder.forum("resume", "first")

    paused = folder.run("--answers-from", "first", out="second")
    folder.forum("gate", "approve", "second", "b", "--by", "ann")
    result = folder.forum("resume", "second")

    assert (paused.code, result.code) == (5, 0), (paused, result)
    assert folder.lines("effects") == ["x"]
    check_valid(folder.path / "second")


def test_resuming_a_run_that_reused_results_reuses_them_again(folder: Folder) -> None:
    """The process ended before it recorded the reuse, and the task still does not run."""
    tasks = {"a": sh("echo x >> effects; echo a"), "b": sh("echo y >> effects; cat", needs=["a"])}
    folder.write(tasks)
    folder.run(out="first")
    folder.run("--only", "b", "--base", "first", out="second")
    truncate_after(folder.path / "second", 1)

    result = folder.forum("resume", "second")

    assert result.code == 0, result
    assert (folder.reused_tasks("second"), set(folder.attempt_counts("second"))) == ({"a"}, {"b"})
    check_valid(folder.path / "second")


def test_resume_failed_keeps_the_inputs_and_the_part_of_the_first_run(folder: Folder) -> None:
    tasks = {
        "a": sh("echo ${{ inputs.version }}"),
        "b": sh("cat; test -e fine", needs=["a"]),
        "c": sh("cat", needs=["b"]),
    }
    folder.write(tasks, inputs={"version": {"type": "string"}}, outputs={"a": "a", "b": "b", "c": "c"})
    folder.run("--input", "version=1.10", "--until", "b", out="first")
    (folder.path / "fine").touch()

    result = folder.forum("resume", "first", "--failed", "--out", "second")

    assert result.code == 0, result
    assert folder.task_states("second") == {"a": "passed", "b": "passed"}
    assert folder.read("second/outputs/a.txt") == "1.10"
