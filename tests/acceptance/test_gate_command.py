"""`forum gate` lists pending gates and binds a decision to the text that was displayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, bytes_in, check_valid

ANSWERS = [
    {"task": "draft", "output": "a draft"},
    {"task": "publish", "contains": "Publish it in capitals.", "output": "A DRAFT"},
    {"task": "publish", "contains": "Publish it.", "output": "published"},
    {"output": "done"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A workflow with a gate."""
    folder = Folder(tmp_path / "work")
    write_workflow(folder)
    return folder


def write_workflow(folder: Folder, **gate: Any) -> None:
    gate_fields = {"question": "Publish ${{ needs.draft }}?", **gate}
    tasks = {
        "draft": ask("Write."),
        "publish": ask("Publish it.", needs=["draft"], gate=gate_fields),
        "after": ask("Tell.", needs=["publish"]),
    }
    folder.write(tasks, roster=MODEL, answers=ANSWERS, outputs={"publish": "publish", "after": "after"})


def run_until_paused(folder: Folder) -> None:
    result = folder.run("--scripted")
    assert result.code == 5, result


def decisions(folder: Folder) -> list[dict[str, Any]]:
    return [entry["data"] for entry in folder.entries("run", "gate.decided")]


def test_pending_gates_are_listed_with_their_action(folder: Folder) -> None:
    run_until_paused(folder)

    listed = folder.forum("gate", "list", "run")
    (gate,) = folder.forum("gate", "list", "run", "--json").document()["gates"]

    assert listed.code == 0
    assert "question  Publish a draft?" in listed.out
    assert "forum gate approve run publish" in listed.out
    assert (gate["task"], gate["deadline"], gate["displayed"]["question"]) == ("publish", None, "Publish a draft?")
    assert "Publish it." in gate["displayed"]["text"]
    assert gate["digest"] == folder.entries("run", "gate.opened")[0]["bodies"]["displayed"]["digest"]


def test_an_approved_task_runs_and_the_decision_is_marked_as_not_authenticated(folder: Folder) -> None:
    run_until_paused(folder)

    approved = folder.forum("gate", "approve", "run", "publish", "--by", "ann", "--reason", "it is good")
    resumed = folder.forum("resume", "run")
    summary = folder.forum("show", "run")

    assert (approved.code, resumed.code) == (0, 0), (approved, resumed)
    assert "by ann (not authenticated)" in approved.out
    assert "forum resume run" in approved.out
    (decision,) = decisions(folder)
    assert (decision["decision"], decision["by"], decision["authenticated"]) == ("approved", "person", False)
    entry = folder.entries("run", "gate.decided")[0]
    assert (entry["actor"], folder.body("run", entry, "reason")) == ("person:ann", b"it is good")
    assert "not authenticated" in summary.out
    assert folder.read("run/outputs/publish.txt") == "published"
    check_valid(folder.path / "run")


def test_an_edited_instruction_is_sent_to_the_agent(folder: Folder) -> None:
    run_until_paused(folder)
    (folder.path / "words.txt").write_text("Publish it in capitals.", encoding="utf-8")

    without_instruction = folder.forum("gate", "edit", "run", "publish", "--by", "ann")
    edited = folder.forum("gate", "edit", "run", "publish", "--by", "ann", "--file", "words.txt")
    resumed = folder.forum("resume", "run")

    assert (without_instruction.code, edited.code, resumed.code) == (2, 0, 0), (without_instruction, edited, resumed)
    assert folder.read("run/outputs/publish.txt") == "A DRAFT"
    prompt = folder.body("run", folder.entries("run", "task.started")[1], "prompt")
    assert b"Publish it in capitals." in prompt
    assert b"Publish it.\\n" not in prompt
    check_valid(folder.path / "run")


def test_an_empty_instruction_is_refused_as_in_a_plan(folder: Folder) -> None:
    run_until_paused(folder)
    (folder.path / "empty.txt").write_bytes(b"")
    before = bytes_in(folder.path / "run")

    for option, value in (("--instruction", ""), ("--file", "empty.txt")):
        result = folder.forum("gate", "edit", "run", "publish", "--by", "ann", option, value)
        assert (result.code, result.out) == (2, "")
        assert result.err == "forum: the instruction for 'publish' is empty\n"

    assert bytes_in(folder.path / "run") == before
    folder.write({"blank": ask("")}, roster=MODEL)
    assert "F308" in folder.forum("check", "workflow.yaml").out

    # Both commands accept whitespace.
    assert folder.forum("gate", "edit", "run", "publish", "--by", "ann", "--instruction", " \n").code == 0
    folder.write({"blank": ask(" \n")}, roster=MODEL)
    assert folder.forum("check", "workflow.yaml").code == 0


@pytest.mark.parametrize("name", ["eve <script>", " ann", "ann\n", "Zo\u00eb", "\x1b[2J", "a" * 201])
def test_a_name_that_cannot_be_recorded_is_refused(folder: Folder, name: str) -> None:
    run_until_paused(folder)
    before = bytes_in(folder.path / "run")

    result = folder.forum("gate", "approve", "run", "publish", "--by", name)

    assert result.code == 2
    assert "for --by: use at most 200 ASCII characters and no spaces" in result.err
    assert "\x1b" not in result.err
    assert bytes_in(folder.path / "run") == before

    longest = "a" * 198 + "<>"
    assert folder.forum("gate", "approve", "run", "publish", "--by", longest).code == 0
    assert folder.entries("run", "gate.decided")[0]["actor"] == f"person:{longest}"


def test_a_decision_with_a_different_digest_is_refused(folder: Folder) -> None:
    run_until_paused(folder)
    (gate,) = folder.forum("gate", "list", "run", "--json").document()["gates"]
    before = bytes_in(folder.path / "run")

    wrong = folder.forum("gate", "approve", "run", "publish", "--by", "ann", "--displayed", "0" * 64)
    is_unchanged = bytes_in(folder.path / "run") == before
    right = folder.forum("gate", "approve", "run", "publish", "--by", "ann", "--displayed", gate["digest"][:12])

    assert (wrong.code, is_unchanged, right.code) == (2, True, 0), (wrong, right)
    assert f"the digest of the gate 'publish' is {gate['digest']}" in wrong.err


@pytest.mark.parametrize("characters", [0, 1, 7])
def test_a_digest_that_is_too_short_is_refused(folder: Folder, characters: int) -> None:
    run_until_paused(folder)
    (gate,) = folder.forum("gate", "list", "run", "--json").document()["gates"]

    result = folder.forum(
        "gate", "approve", "run", "publish", "--by", "ann", "--displayed", gate["digest"][:characters]
    )

    assert (result.code, "is too short: " in result.err) == (2, True), result
    assert decisions(folder) == []


@pytest.mark.parametrize("command", [["list", "run"], ["approve", "run", "publish", "--by", "ann"]])
def test_gates_of_a_run_without_a_valid_plan_are_refused(folder: Folder, command: list[str]) -> None:
    run_until_paused(folder)
    ledger = folder.path / "run/ledger.jsonl"
    first, rest = ledger.read_bytes().split(b"\n", 1)
    altered = json.dumps({**json.loads(first), "bodies": {"wave_plan": True}}, sort_keys=True, separators=(",", ":"))
    ledger.write_bytes(altered.encode() + b"\n" + rest)

    result = folder.forum("gate", *command)

    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("forum: the ledger in 'run' is invalid at entry 0: L105 ")


def test_resuming_without_a_decision_changes_nothing(folder: Folder) -> None:
    run_until_paused(folder)
    before = bytes_in(folder.path / "run")

    resumed = folder.forum("resume", "run")

    assert resumed.code == 5
    assert "forum gate approve run publish" in resumed.out
    assert bytes_in(folder.path / "run") == before


def test_only_a_pending_gate_can_be_decided(folder: Folder) -> None:
    run_until_paused(folder)
    arguments = ("--by", "ann")

    unknown = folder.forum("gate", "approve", "run", "publihs", *arguments)
    folder.forum("gate", "reject", "run", "publish", *arguments)
    twice = folder.forum("gate", "approve", "run", "publish", *arguments)
    resumed = folder.forum("resume", "run")
    late = folder.forum("gate", "approve", "run", "publish", *arguments)

    assert [result.code for result in (unknown, twice, resumed, late)] == [2, 2, 6, 2]
    assert "did you mean 'publish'?" in unknown.err
    assert "the gate of 'publish' is already rejected" in twice.err
    assert folder.task_states()["publish"] == "refused: rejected"
    assert [decision["decision"] for decision in decisions(folder)] == ["rejected"]
    check_valid(folder.path / "run")


@pytest.mark.parametrize(
    ("rule", "decision", "code", "state"),
    [("approve", "approved", 0, "passed"), ("reject", "rejected", 6, "refused: deadline")],
)
def test_after_the_deadline_only_on_deadline_decides(
    folder: Folder, rule: str, decision: str, code: int, state: str
) -> None:
    """The run pauses in the step that opens the gate, however short the deadline is."""
    write_workflow(folder, deadline="1ms", on_deadline=rule)
    run_until_paused(folder)

    late = folder.forum("gate", "approve", "run", "publish", "--by", "ann")
    listed = folder.forum("gate", "list", "run")
    resumed = folder.forum("resume", "run")

    assert (late.code, resumed.code) == (2, code), (late, resumed)
    assert "the deadline of 'publish' passed at" in late.err
    assert "(passed)" in listed.out
    assert [(entry["by"], entry["decision"]) for entry in decisions(folder)] == [("deadline", decision)]
    assert folder.task_states()["publish"] == state
    check_valid(folder.path / "run")


def test_two_gates_are_decided_separately(folder: Folder) -> None:
    gate = {"question": "Now?"}
    folder.write({"a": ask("A.", gate=gate), "b": ask("B.", gate=gate)}, roster=MODEL, answers=ANSWERS[-1:])
    run_until_paused(folder)

    first = folder.forum("gate", "approve", "run", "a", "--by", "ann")
    after_first = folder.forum("resume", "run")
    states = folder.task_states()
    second = folder.forum("gate", "reject", "run", "b", "--by", "bob", "--json")
    resumed = folder.forum("resume", "run")

    assert (first.code, after_first.code, second.code, resumed.code) == (0, 5, 0, 6), (
        first,
        after_first,
        second,
        resumed,
    )
    assert "1 more gate to decide" in first.out
    assert states == {"a": "passed"}
    assert (second.document()["waiting"], second.document()["edited"]) == (0, False)
    assert second.document()["digest"] == folder.entries("run", "gate.opened")[1]["bodies"]["displayed"]["digest"]
    assert folder.task_states() == {"a": "passed", "b": "refused: rejected"}
    check_valid(folder.path / "run")


def test_the_gate_of_a_sensitive_task_can_be_decided_and_replayed(folder: Folder) -> None:
    tasks = {"secret": ask("Keep it.", sensitive=True, gate={"question": "Keep ${{ inputs.word }}?"})}
    inputs = {"word": {"type": "string", "default": "this"}}
    folder.write(tasks, roster=MODEL, inputs=inputs, answers=ANSWERS[-1:])
    run_until_paused(folder)

    listed = folder.forum("gate", "list", "run", "--json").document()["gates"][0]
    edited = folder.forum("gate", "edit", "run", "secret", "--by", "ann", "--instruction", "Keep all.", "--reason", "r")
    resumed = folder.forum("resume", "run")

    assert (edited.code, resumed.code) == (0, 0), (edited, resumed)
    assert listed["displayed"]["question"] == "Keep this?"
    bodies = folder.entries("run", "gate.decided")[0]["bodies"]
    assert all(body["salted"] for body in bodies.values())
    check_valid(folder.path / "run")
