"""Gates are reported with decisions, reasons and deadlines, and only with commands that would succeed."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, PATIENCE_S, Folder, ask, bytes_in, sh, truncate_after, wait_for

EDIT = ("--instruction", "Publish it in capitals.")


def paused_run(path: Path, *, task: dict[str, Any] | None = None, **gate: Any) -> Folder:
    """A run that is paused at the gate of `publish`."""
    folder = Folder(path)
    publish = ask("Publish it.", gate={"question": "Publish?", **gate}, **(task or {}))
    folder.write({"publish": publish}, roster=MODEL, answers=[{"output": "done"}])
    result = folder.run("--scripted")
    assert result.code == 5, result
    return folder


def decide(folder: Folder, verb: str, *options: str) -> None:
    result = folder.forum("gate", verb, "run", "publish", "--by", "ann", *options)
    assert result.code == 0, result


def reported_decision(folder: Folder, run: str = "run") -> tuple[str, str]:
    """The decision as `forum show` and `forum log` print it."""
    summary, logged = folder.forum("show", run), folder.forum("log", run, "--kind", "gate.decided")
    assert (summary.code, logged.code) == (0, 0), (summary, logged)
    (line,) = (line for line in summary.out.splitlines() if line.startswith("  publish: "))
    return line.removeprefix("  publish: "), logged.out.rstrip("\n").partition("person:ann      ")[2]


def gate_as_json(folder: Folder) -> Any:
    return folder.forum("show", "run", "--json").document()["tasks"][0]["gate"]


def list_gates(folder: Folder) -> str:
    result = folder.forum("gate", "list", "run")
    assert result.code == 0, result
    return result.out


def list_gates_as_json(folder: Folder) -> dict[str, Any]:
    return folder.forum("gate", "list", "run", "--json").document()


def test_an_edited_approval_is_distinguished_from_a_plain_one(tmp_path: Path) -> None:
    plain, edited = paused_run(tmp_path / "plain"), paused_run(tmp_path / "edited")

    decide(plain, "approve")
    decide(edited, "edit", *EDIT)

    assert reported_decision(plain) == (
        "approved by ann (not authenticated)",
        "approved by person (not authenticated)",
    )
    assert reported_decision(edited) == (
        "approved by ann (not authenticated), instruction edited",
        "approved by person (not authenticated), instruction edited",
    )
    gates = gate_as_json(plain), gate_as_json(edited)
    assert [(gate["edited"], gate["reason"]) for gate in gates] == [(False, None), (True, None)]


@pytest.mark.parametrize(("verb", "options"), [("approve", ()), ("reject", ()), ("edit", EDIT)])
def test_the_reason_for_a_decision_is_shown(tmp_path: Path, verb: str, options: tuple[str, ...]) -> None:
    folder = paused_run(tmp_path)
    reason = "read\x1b[2J it\ntwice"

    decide(folder, verb, *options, "--reason", reason)

    assert all(
        line.endswith(", reason: read\N{REPLACEMENT CHARACTER}[2J it twice") for line in reported_decision(folder)
    )
    assert gate_as_json(folder)["reason"] == {"state": "given", "text": reason}
    resumed = folder.forum("resume", "run", "--progress", "none", "--json").document()
    assert resumed["tasks"][0]["gate"] == gate_as_json(folder)


def test_a_sensitive_reason_is_marked_and_not_shown(tmp_path: Path) -> None:
    folder = paused_run(tmp_path, task={"sensitive": True})

    decide(folder, "edit", *EDIT, "--reason", "a secret")

    assert all(line.endswith(", instruction edited, its reason is sensitive") for line in reported_decision(folder))
    assert gate_as_json(folder)["reason"] == {"state": "sensitive", "text": None}


@pytest.mark.parametrize("task", [{}, {"sensitive": True}])
def test_a_redacted_reason_is_marked(tmp_path: Path, task: dict[str, Any]) -> None:
    folder = paused_run(tmp_path, task=task)
    decide(folder, "reject", "--reason", "a secret")
    (entry,) = folder.entries("run", "gate.decided")

    arguments = ("--seq", str(entry["seq"]), "--body", "reason", "--reason", "private", "--by", "ann")
    redacted = folder.forum("redact", "run", *arguments)

    assert redacted.code == 0, redacted
    assert all(line.endswith(", its reason is redacted") for line in reported_decision(folder))
    assert gate_as_json(folder)["reason"] == {"state": "redacted", "text": None}


def test_a_reason_without_its_body_is_reported_as_not_available(tmp_path: Path) -> None:
    folder = paused_run(tmp_path)

    decide(folder, "approve", "--reason", "it is good")

    assert all(line.endswith(", its reason is not available") for line in reported_decision(folder, "run/ledger.jsonl"))


@pytest.mark.parametrize("rule", ["approve", "reject"])
def test_the_decision_at_the_deadline_is_listed(tmp_path: Path, rule: str) -> None:
    folder = paused_run(tmp_path, deadline="1h", on_deadline=rule)

    (gate,) = list_gates_as_json(folder)["gates"]
    lines = list_gates(folder).splitlines()

    assert (gate["on_deadline"], gate["deadline_passed"]) == (rule, False)
    at = gate["deadline"]
    assert f"  deadline  {at[:10]} {at[11:23]}Z, then {rule}" in lines
    assert lines[-2:] == [
        f"  forum gate {verb} run publish --displayed {gate['digest'][:12]}" for verb in ("approve", "reject")
    ]


def test_a_gate_without_a_deadline_lists_none(tmp_path: Path) -> None:
    folder = paused_run(tmp_path)

    (gate,) = list_gates_as_json(folder)["gates"]

    assert (gate["deadline"], gate["on_deadline"], gate["deadline_passed"]) == (None, None, False)
    assert "deadline" not in list_gates(folder)


def test_after_the_deadline_only_resume_is_suggested(tmp_path: Path) -> None:
    """The run pauses in the step that opens the gate, however short the deadline is."""
    folder = paused_run(tmp_path, deadline="1ms", on_deadline="reject")

    (gate,) = list_gates_as_json(folder)["gates"]
    lines = list_gates(folder).splitlines()
    resumed = folder.forum("resume", "run", "--progress", "none")

    assert gate["deadline_passed"] is True
    assert [line for line in lines if "(passed), then reject" in line]
    assert lines[-1] == "  the deadline has passed; apply `on_deadline` with: forum resume run"
    assert [line for line in lines if "forum gate" in line] == []
    assert resumed.code == 6
    assert folder.task_states() == {"publish": "refused: deadline"}


def test_a_decision_that_leaves_only_passed_deadlines_suggests_resume(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    gates: dict[str, dict[str, Any]] = {"late": {"deadline": "1ms"}, "open": {}}
    tasks = {name: ask("Do.", gate={"question": "?", **gate}) for name, gate in gates.items()}
    folder.write(tasks, roster=MODEL, answers=[{"output": "done"}])
    assert folder.run("--scripted").code == 5

    decision = folder.forum("gate", "approve", "run", "open", "--by", "ann")

    assert decision.out.endswith("; resume with: forum resume run\n")


def test_gates_are_listed_even_if_the_plan_is_redacted(tmp_path: Path) -> None:
    folder = paused_run(tmp_path, deadline="1h")
    arguments = ("--seq", "0", "--body", "wave_plan", "--reason", "private", "--by", "ann")
    assert folder.forum("redact", "run", *arguments).code == 0

    (gate,) = list_gates_as_json(folder)["gates"]

    assert gate["on_deadline"] is None
    assert "Z, then ?\n" in list_gates(folder)


def test_the_list_reports_that_a_running_process_accepts_decisions(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"asked": sh("echo", gate={"question": "?"}), "busy": sh("touch at-work; exec sleep 60")})
    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "plain")
    wait_for(folder.path / "at-work", process)

    while_running, gates = list_gates(folder), list_gates_as_json(folder)
    process.send_signal(signal.SIGINT)
    _, progress = process.communicate(timeout=PATIENCE_S)
    afterwards, gates_afterwards = list_gates(folder), list_gates_as_json(folder)

    assert (gates["at_work"], gates_afterwards["at_work"]) == (True, False)
    assert while_running.splitlines()[-1] == "the run is in progress and applies a decision at once"
    assert "  forum gate approve run asked --displayed " in while_running
    assert b"  to decide: forum gate list run\n" in progress
    assert "in progress" not in afterwards
    assert "  forum gate approve run asked --displayed " in afterwards


def test_a_killed_run_is_not_reported_as_running(tmp_path: Path) -> None:
    folder = paused_run(tmp_path)
    truncate_after(folder.path / "run", len(folder.entries()) - 1)
    before = bytes_in(folder.path / "run")

    gates = list_gates_as_json(folder)

    assert (gates["at_work"], [gate["task"] for gate in gates["gates"]]) == (False, ["publish"])
    assert "  forum gate approve run publish --displayed " in list_gates(folder)
    assert bytes_in(folder.path / "run") == before
    decide(folder, "approve")


def test_json_output_contains_no_control_characters(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    publish = ask("Publish it.", gate={"question": "Publish \u202egnihton\u202c, or \u009b2J?"})
    folder.write({"publish": publish}, roster=MODEL, answers=[{"output": "done"}])
    assert folder.run("--scripted").code == 5

    printed = folder.forum("gate", "list", "run", "--json")

    assert printed.out.isascii()
    assert printed.document()["gates"][0]["displayed"]["question"] == "Publish \u202egnihton\u202c, or \u009b2J?"
