"""Decisions and redactions in a deterministic run take no virtual time and always write the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, check_valid

ANSWERS = [{"output": "done", "latency": "1s"}]


def paused_run(path: Path, **gate: Any) -> Folder:
    folder = Folder(path)
    question = {"question": "Publish?", **gate}
    tasks = {"draft": ask("Write."), "publish": ask("Publish it.", needs=["draft"], gate=question, sensitive=True)}
    folder.write(tasks, roster=MODEL, answers=ANSWERS)
    assert folder.run("--deterministic").code == 5
    return folder


def ledger_bytes(folder: Folder) -> bytes:
    return (folder.path / "run" / "ledger.jsonl").read_bytes()


@pytest.mark.requirement("RUN-VIRTUAL-007", "RUN-VIRTUAL-002")
def test_the_same_decision_writes_the_same_bytes(tmp_path: Path) -> None:
    folders = [paused_run(tmp_path / name) for name in ("one", "two")]

    for folder in folders:
        decided = folder.forum("gate", "approve", "run", "publish", "--by", "ann", "--reason", "it is good")
        assert decided.code == 0
        assert folder.forum("resume", "run", "--progress", "none").code == 0

    assert ledger_bytes(folders[0]) == ledger_bytes(folders[1])
    times = {entry["kind"]: entry["at"] for entry in folders[0].entries()}
    assert (times["run.paused"], times["gate.decided"], times["run.resumed"]) == ("2000-01-01T00:00:01.000000Z",) * 3
    assert times["run.sealed"] == "2000-01-01T00:00:02.000000Z"
    check_valid(folders[0].path / "run")


@pytest.mark.requirement("RUN-VIRTUAL-007")
def test_a_redaction_has_the_time_of_the_last_entry(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"draft": ask("Write.")}, roster=MODEL, answers=ANSWERS)
    assert folder.run("--deterministic").code == 0
    (finished,) = folder.entries("run", "task.finished")

    result = folder.forum(
        "redact", "run", "--seq", str(finished["seq"]), "--body", "output", "--reason", "why", "--by", "ann"
    )

    assert result.code == 0
    assert {entry["at"] for entry in folder.entries("run", "body.redacted", "run.sealed")} == {
        "2000-01-01T00:00:01.000000Z"
    }


@pytest.mark.requirement("RUN-VIRTUAL-007", "RUN-RESUME-003")
def test_resuming_without_a_decision_changes_nothing(tmp_path: Path) -> None:
    folder = paused_run(tmp_path)
    before = ledger_bytes(folder)

    result = folder.forum("resume", "run", "--progress", "none")

    assert result.code == 5
    assert ledger_bytes(folder) == before


@pytest.mark.requirement("RUN-VIRTUAL-007")
def test_no_deadline_expires_while_a_deterministic_run_is_paused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    gates = {
        "soon": ask("Soon.", gate={"question": "Soon?", "deadline": "1h", "on_deadline": "approve"}),
        "never": ask("Never.", gate={"question": "Never?"}),
    }
    folder.write(gates, roster=MODEL, answers=ANSWERS)
    assert folder.run("--deterministic").code == 5
    lines = ledger_bytes(folder).splitlines(keepends=True)
    paused_at = next(number for number, line in enumerate(lines) if b'"kind":"run.paused"' in line)
    (folder.path / "run" / "ledger.jsonl").write_bytes(b"".join(lines[: paused_at + 1]))

    result = folder.forum("gate", "approve", "run", "soon", "--by", "ann")

    assert result.code == 0
    (decided,) = folder.entries("run", "gate.decided")
    assert (decided["at"], decided["data"]["by"]) == ("2000-01-01T00:00:00.000000Z", "person")


@pytest.mark.requirement("RUN-VIRTUAL-004", "RUN-VIRTUAL-005")
def test_a_deadline_expires_while_tasks_run_or_when_no_other_task_is_left(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    gates = {name: {"question": "Go?", "deadline": name, "on_deadline": "approve"} for name in ("5s", "1h")}
    tasks = {f"in-{name}": ask("Do.", gate=gate) for name, gate in gates.items()}
    answers = [{"task": "slow", "output": "done", "latency": "10s"}, {"output": "done"}]
    folder.write({**tasks, "slow": ask("Work.")}, roster=MODEL, answers=answers)

    result = folder.run("--deterministic")

    assert result.code == 0, result
    times = [
        (entry["data"]["task"], entry["at"][11:19]) for entry in folder.entries("run", "gate.decided", "task.ended")
    ]
    assert times == [
        ("in-5s", "00:00:05"),
        ("in-5s", "00:00:05"),
        ("slow", "00:00:10"),
        ("in-1h", "01:00:00"),
        ("in-1h", "01:00:00"),
    ]
    assert [entry["at"][11:19] for entry in folder.entries("run", "run.paused")] == ["00:00:10"]
