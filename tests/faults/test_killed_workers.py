"""Killing workers of the process engine at any moment leaves a valid ledger and no running process.

FORUM_FAULT_ROUNDS multiplies the number of runs, FORUM_FAULT_SEED changes when workers are killed.
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
from engines.adapter_plugins import install_adapters

ROUNDS = int(os.environ.get("FORUM_FAULT_ROUNDS", "1"))
SEED = os.environ.get("FORUM_FAULT_SEED", "1")
WORKER = b"forum_runner.execute.engines.worker"
# Each program first records its task and attempt.
_RECORD_EFFECT = 'read -r me; test -n "$me" || exit 9; printf "%s\\n" "$me" >> effects'
ROSTER: dict[str, Any] = {
    "adapters": {
        "shell": {**SHELL["adapters"]["shell"], "env": ["PATH", "RUN_MARKER"]},
        "faulty": {"type": "x-faulty"},
    },
    "agents": {**SHELL["agents"], "faulty": {"adapter": "faulty"}},
}
POLICY = {
    "engine": "process",
    "on_failure": "continue",
    "allow": {"commands": ["sh"], "env": ["PATH", "RUN_MARKER"]},
}
FAST_RETRY = {"attempts": 2, "backoff": "10ms", "max_backoff": "10ms"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder for runs. All processes of a run have RUN_MARKER in their environment, to find leftovers."""
    install_adapters(tmp_path / "packages", monkeypatch)
    return Folder(tmp_path / "work", {"PYTHONPATH": os.pathsep.join(sys.path), "RUN_MARKER": str(tmp_path)})


def faulty(behavior: str, **fields: Any) -> dict[str, Any]:
    return {"agent": "faulty", "instruction": behavior, "retry": FAST_RETRY, **fields}


def tasks() -> dict[str, Any]:
    """Return tasks that run programs, and tasks whose adapter blocks, leaks, crashes, exits or forks."""
    program = sh(f"{_RECORD_EFFECT}; sleep 0.1; echo done", idempotent=True)
    leaves_daemon = sh(f"{_RECORD_EFFECT}; (setsid sleep 100 &) ; sleep 0.1; echo done", idempotent=True)
    return {
        **{f"program-{number}": program for number in range(4)},
        "leaves-daemon": leaves_daemon,
        "once": sh(f"{_RECORD_EFFECT}; sleep 0.1; echo done"),
        "good": faulty("succeed 0.1", idempotent=True),
        "blocks": faulty("block 0.2", idempotent=True),
        "leaks-thread": faulty("leak_thread", idempotent=True),
        "leaks-process": faulty("leak_process", idempotent=True),
        "crashes": faulty("crash"),
        "crashes-again": faulty("crash", idempotent=True),
        "raises-system-exit": faulty("raise_system_exit"),
        "exits": faulty("exit_immediately", idempotent=True),
        "forks": faulty("fork_and_crash", idempotent=True),
        "returns-twice": faulty("fork_and_return", idempotent=True),
        "writes-garbage": faulty("write_garbage"),
        "last": sh(f"{_RECORD_EFFECT}; echo done", needs=[{"task": "good", "edge": "order"}], idempotent=True),
    }


def workers_below(runner: int) -> list[int]:
    """Return the process ids of the workers among the descendants of a process."""
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


def kill_workers(process: subprocess.Popen[bytes], rng: random.Random, max_kills: int) -> int:
    """Kill up to `max_kills` random workers, and wait until the process ends. Return how many were killed."""
    killed = 0
    deadline_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(rng.uniform(0, 0.2))
        workers = workers_below(process.pid) if killed < max_kills else []
        if workers:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(workers), signal.SIGKILL)
                killed += 1
    return killed


@pytest.mark.parametrize("number", range(2 * ROUNDS))
def test_a_run_whose_workers_are_killed_is_valid_and_complete(folder: Folder, number: int) -> None:
    rng = random.Random(f"{SEED}/{number}")  # noqa: S311 - no secret
    folder.write(tasks(), roster=ROSTER, policy={**POLICY, "max_parallel": 3})

    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
    killed = kill_workers(process, rng, max_kills=8)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert killed > 0
    assert process.returncode == 1, err
    check_valid(folder.path / "run")
    assert_attempts(folder)
    states = folder.task_states()
    assert states["crashes"] == states["writes-garbage"] == "failed: error"
    assert_no_process_remains(folder)


def assert_attempts(folder: Folder) -> None:
    """Assert that every attempt ended once, and that none ran its program twice or was not recorded as started."""
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


def assert_no_process_remains(folder: Folder) -> None:
    """Assert that no process of the run remains. Wardens may need a moment to end leftover processes."""
    deadline_s = time.monotonic() + 20
    while (remaining := processes_with(str(folder.path.parent))) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert remaining == []


def test_a_killed_runner_leaves_no_process_and_its_run_can_be_resumed(folder: Folder) -> None:
    slow = {
        "slow": sh(f"{_RECORD_EFFECT}; sleep 100"),
        "blocks": faulty("block 100"),
        "stubborn": faulty("block_ignoring_sigterm"),
    }
    folder.write(slow, roster=ROSTER, policy=POLICY)
    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
    deadline_s = time.monotonic() + PATIENCE_S
    while not folder.lines("effects") or len(workers_below(process.pid)) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(0.05)

    process.kill()
    process.communicate()

    assert_no_process_remains(folder)
    resumed = folder.start("resume", "run", "--progress", "none")
    _, err = resumed.communicate(timeout=PATIENCE_S)
    assert resumed.returncode == 1, err
    assert folder.task_states() == dict.fromkeys(slow, "failed: error")
    check_valid(folder.path / "run")
