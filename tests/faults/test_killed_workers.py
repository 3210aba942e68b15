"""Killing workers of the process engine at any moment leaves a valid ledger and no running process.

FORUM_FAULT_ROUNDS multiplies the number of runs, FORUM_FAULT_SEED changes the moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import PATIENCE_S, SHELL, Folder, check_valid, processes_with, sh
from engines.installing import install_adapters

ROUNDS = int(os.environ.get("FORUM_FAULT_ROUNDS", "1"))
SEED = os.environ.get("FORUM_FAULT_SEED", "1")
WORKER = b"forum_runner.execute.engines.worker"
# Each program first records its task and attempt.
_RECORD_EFFECT = 'read -r me; test -n "$me" || exit 9; printf "%s\\n" "$me" >> effects'
ROSTER: dict[str, Any] = {
    "adapters": {"shell": {**SHELL["adapters"]["shell"], "env": ["PATH", "KEY"]}, "odd": {"type": "x-odd"}},
    "agents": {**SHELL["agents"], "odd": {"adapter": "odd"}},
}
QUICK = {"attempts": 2, "backoff": "10ms", "max_backoff": "10ms"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Every process that a run starts has KEY in its environment, which makes leftovers easy to find."""
    install_adapters(tmp_path / "packages", monkeypatch)
    return Folder(tmp_path / "work", {"PYTHONPATH": os.pathsep.join(sys.path), "KEY": str(tmp_path)})


def odd(behaviour: str, **fields: Any) -> dict[str, Any]:
    return {"agent": "odd", "instruction": behaviour, "retry": QUICK, **fields}


def tasks() -> dict[str, Any]:
    """Programs, and adapters that block, leak, crash, exit and fork."""
    program = sh(f"{_RECORD_EFFECT}; sleep 0.1; echo done", idempotent=True)
    leaving = sh(f"{_RECORD_EFFECT}; (setsid sleep 100 &) ; sleep 0.1; echo done", idempotent=True)
    return {
        **{f"program-{number}": program for number in range(4)},
        "leaving": leaving,
        "once": sh(f"{_RECORD_EFFECT}; sleep 0.1; echo done"),
        "good": odd("succeed 0.1", idempotent=True),
        "blocks": odd("block 0.2", idempotent=True),
        "leaks-thread": odd("leak_thread", idempotent=True),
        "leaks-process": odd("leak_process", idempotent=True),
        "crashes": odd("crash"),
        "crashes-again": odd("crash", idempotent=True),
        "exits": odd("exit"),
        "leaves": odd("leave", idempotent=True),
        "forks": odd("fork_and_crash", idempotent=True),
        "returns-twice": odd("fork_and_return", idempotent=True),
        "writes-garbage": odd("garbage"),
        "last": sh(f"{_RECORD_EFFECT}; echo done", needs=[{"task": "good", "edge": "order"}], idempotent=True),
    }


def workers_below(runner: int) -> list[int]:
    """Find the workers among the descendants of a process."""
    parents: dict[int, int] = {}
    commands: dict[int, bytes] = {}
    for path in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            pid = int(path.name)
            parents[pid] = int((path / "stat").read_bytes().rpartition(b")")[2].split()[1])
            commands[pid] = (path / "cmdline").read_bytes()
    workers, pending = [], [runner]
    while pending:
        parent = pending.pop()
        children = [pid for pid, parent_pid in parents.items() if parent_pid == parent]
        workers += [pid for pid in children if WORKER in commands[pid]]
        pending += children
    return workers


def kill_workers(process: subprocess.Popen[bytes], moments: random.Random, kills: int) -> int:
    """Kill at most `kills` workers, until the process ends."""
    killed = 0
    deadline_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(moments.uniform(0, 0.2))
        workers = workers_below(process.pid) if killed < kills else []
        if workers:
            with suppress(ProcessLookupError):
                os.kill(moments.choice(workers), signal.SIGKILL)
                killed += 1
    return killed


@pytest.mark.parametrize("number", range(2 * ROUNDS))
def test_a_run_whose_workers_are_killed_is_valid_and_complete(folder: Folder, number: int) -> None:
    moments = random.Random(f"{SEED}/{number}")  # noqa: S311 - no secret
    folder.write(tasks(), roster=ROSTER, policy={"engine": "process", "on_failure": "continue", "max_parallel": 3})

    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
    killed = kill_workers(process, moments, kills=8)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert killed > 0
    assert process.returncode == 1, err
    check_valid(folder.path / "run")
    check_attempts(folder)
    ends = folder.task_states()
    assert ends["crashes"] == ends["writes-garbage"] == "failed: error"
    assert_nothing_is_left(folder)


def check_attempts(folder: Folder) -> None:
    """Check that every attempt ended once, every program that ran was recorded, and none ran twice."""
    started = Counter(
        (entry["data"]["task"], entry["data"]["attempt"]) for entry in folder.entries("run", "task.started")
    )
    ended = Counter(
        (entry["data"]["task"], entry["data"]["attempt"])
        for entry in folder.entries("run", "task.finished", "task.lost")
    )
    effects = Counter((effect["task"], effect["attempt"]) for effect in map(json.loads, folder.lines("effects")))

    assert started == ended
    assert set(started.values()) == set(effects.values()) == {1}
    assert effects.keys() <= started.keys()


def assert_nothing_is_left(folder: Folder) -> None:
    """Wait, because wardens may need a moment to end leftover processes."""
    deadline_s = time.monotonic() + 20
    while (left := processes_with(str(folder.path.parent))) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert left == []


def test_a_killed_runner_leaves_nothing_behind_and_can_be_resumed(folder: Folder) -> None:
    slow = {"slow": sh(f"{_RECORD_EFFECT}; sleep 100"), "blocks": odd("block 100"), "stubborn": odd("block_deaf")}
    folder.write(slow, roster=ROSTER, policy={"engine": "process", "on_failure": "continue"})
    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
    deadline_s = time.monotonic() + PATIENCE_S
    while not folder.lines("effects") or len(workers_below(process.pid)) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(0.05)

    process.kill()
    process.communicate()

    assert_nothing_is_left(folder)
    resumed = folder.start("resume", "run", "--progress", "none")
    _, err = resumed.communicate(timeout=PATIENCE_S)
    assert resumed.returncode == 1, err
    assert folder.task_states() == dict.fromkeys(slow, "failed: error")
    check_valid(folder.path / "run")
