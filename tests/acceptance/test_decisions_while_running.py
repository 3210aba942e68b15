"""Gate decisions while another process executes the run."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import PATIENCE_S, Folder, Result, check_valid, sh, wait_for
from forum_runner.app.decision_box import DecisionBox
from forum_runner.execute.machine import Decided

BUSY = "touch at-work; while [ ! -e stop-busy ]; do sleep 0.05; done"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def start_run(folder: Folder, **gate: Any) -> subprocess.Popen[bytes]:
    """Start a run with a busy task and a gated one. The busy task ends when the gated task runs."""
    tasks = {
        "busy": sh(BUSY),
        "asked": sh("touch stop-busy; echo done", gate={"question": "Go?", **gate}),
        "after": sh("echo after", needs=["asked"]),
    }
    folder.write(tasks, policy={"dispatch": "eager", "max_parallel": 4})
    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
    wait_for(folder.path / "at-work", process)
    return process


def decide(folder: Folder, verb: str, *options: str) -> Result:
    return folder.forum("gate", verb, "run", "asked", "--by", "ann", *options)


def decisions(folder: Folder) -> list[tuple[str, str, str]]:
    entries = folder.entries("run", "gate.decided")
    return [(entry["actor"], entry["data"]["by"], entry["data"]["decision"]) for entry in entries]


@pytest.mark.requirement("RUN-GATE-005")
def test_a_running_process_starts_an_approved_task(folder: Folder) -> None:
    process = start_run(folder)

    approved = decide(folder, "approve", "--reason", "read it", "--json")
    process.communicate(timeout=PATIENCE_S)

    # The busy task waits for the approved one, so both ran at the same time.
    assert (approved.code, process.returncode) == (0, 0), approved
    assert (approved.document()["at_work"], approved.document()["waiting"]) == (True, 0)
    assert decisions(folder) == [("person:ann", "person", "approved")]
    assert folder.entries("run", "run.paused") == []
    decided = folder.entries("run", "gate.decided")[0]
    assert folder.body("run", decided, "reason") == b"read it"
    assert not list((folder.path / "run").glob("*decision-*"))
    check_valid(folder.path / "run")


@pytest.mark.requirement("RUN-GATE-005")
def test_a_rejection_overrides_a_later_approval_by_deadline(folder: Folder) -> None:
    process = start_run(folder, deadline="1h", on_deadline="approve")

    rejected = decide(folder, "reject")
    (folder.path / "stop-busy").touch()
    process.communicate(timeout=PATIENCE_S)

    assert (rejected.code, process.returncode) == (0, 6), rejected
    assert rejected.out.endswith("; the run continues\n")
    assert folder.task_states() == {"busy": "passed", "asked": "refused: rejected", "after": "skipped: upstream"}
    check_valid(folder.path / "run")


def test_a_decision_with_a_different_digest_is_refused_while_the_run_executes(folder: Folder) -> None:
    process = start_run(folder)

    refused = decide(folder, "approve", "--displayed", "f00f00f00f00")
    resumed = folder.forum("resume", "run")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)

    assert (refused.code, resumed.code) == (2, 2)
    assert "not f00f00f00f00" in refused.err
    assert "another process or writer is already writing" in resumed.err
    assert decisions(folder) == []


def test_the_second_of_two_simultaneous_decisions_is_refused(folder: Folder) -> None:
    process = start_run(folder)
    arguments = ("gate", "approve", "run", "asked", "--by", "bob")

    deciders = [folder.start(*arguments), folder.start("gate", "reject", *arguments[2:])]
    outputs = [decider.communicate(timeout=PATIENCE_S) for decider in deciders]
    (folder.path / "stop-busy").touch()
    process.communicate(timeout=PATIENCE_S)

    assert sorted(decider.returncode for decider in deciders) == [0, 2], outputs
    assert len(decisions(folder)) == 1
    check_valid(folder.path / "run")


def test_a_later_process_discards_an_undelivered_decision(folder: Folder) -> None:
    folder.write({"asked": sh("echo", gate={"question": "Go?"})})
    assert folder.run().code == 5
    displayed = folder.entries("run", "gate.opened")[0]["bodies"]["displayed"]["digest"]
    DecisionBox(folder.path / "run").put(Decided("asked", "approved", "person:eve", displayed, {}))
    folder.write({"asked": sh("echo", gate={"question": "Go?"})})

    resumed = folder.forum("resume", "run")

    assert resumed.code == 5
    assert decisions(folder) == []
    assert decide(folder, "approve").code == 0
    assert folder.forum("resume", "run").code == 0
    assert not list((folder.path / "run").glob("*decision-*"))
    check_valid(folder.path / "run")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"task": "asked"}',
        b'{"texts": {"reason": 1}}',
        b'{"task": "a", "decision": "maybe", "actor": "person:p", "displayed": "0", "texts": {}}',
        b'{"task": "a", "decision": "approved", "actor": "runner", "displayed": "0", "texts": {}}',
        b'{"task": "a", "decision": "approved", "actor": "person:p", "displayed": "0", "texts": {"more": ""}}',
        b'{"task": 1, "decision": "approved", "actor": "person:p", "displayed": "0", "texts": {}}',
    ],
)
def test_an_invalid_decision_file_is_removed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "decision-1.json").write_bytes(content)

    assert DecisionBox(tmp_path).take() == []
    assert list(tmp_path.iterdir()) == []


def test_special_files_do_not_block_or_end_a_run(folder: Folder) -> None:
    process = start_run(folder)
    run = folder.path / "run"
    (run / "decision-1.json").mkdir()
    os.mkfifo(run / "decision-2.json")
    (run / "decision-3.json").symlink_to("/dev/zero")

    approved = decide(folder, "approve")
    process.communicate(timeout=PATIENCE_S)

    assert (approved.code, process.returncode) == (0, 0), approved
    assert decisions(folder) == [("person:ann", "person", "approved")]
    assert (run / "decision-1.json").is_dir()
    check_valid(run)
