"""Killing `forum run` and `forum resume` repeatedly, at any moment, loses no work and repeats none.

FORUM_FAULT_ROUNDS multiplies the number of runs, FORUM_FAULT_SEED changes when `forum` is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import (
    MODEL,
    PATIENCE_S,
    POLL_S,
    Folder,
    ask,
    check_replay,
    check_valid,
    sh,
    truncate_after,
    wait_for,
)
from forum_runner import api
from forum_runner.api import ResumeRequest, TrustedReferences, Workspace
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at
from forum_runner.ledger.verification.report import UNFINISHED_CODES

ROUNDS = int(os.environ.get("FORUM_FAULT_ROUNDS", "1"))
SEED = os.environ.get("FORUM_FAULT_SEED", "1")
KILLS = 4
# A program reads its task and attempt as JSON and appends them to `effects`. It exits if the runner was killed before
# it wrote them.
_RECORD_EFFECT = 'read -r me; test -n "$me" || exit 9; printf "%s\\n" "$me" >> effects'

Effects = Counter[tuple[str, int]]


def step(stdout: str = "done", work_s: float = 0.02, **fields: Any) -> dict[str, Any]:
    """A task whose program records its attempt, sleeps and prints a text."""
    return sh(f"{_RECORD_EFFECT}; sleep {work_s}; echo '{stdout}'", idempotent=True, **fields)


def order_edges(*tasks: str) -> list[dict[str, str]]:
    return [{"task": task, "edge": "order"} for task in tasks]


def tasks() -> Mapping[str, Any]:
    """Return twelve tasks: chains, joins, one whose first attempt fails, one with an instance per list item."""
    first_fails = f'{_RECORD_EFFECT}; case "$me" in *\'"attempt":1,\'*) exit 1;; esac; sleep 0.02; echo done'
    fast_retry = {"attempts": 2, "backoff": "10ms", "max_backoff": "10ms"}
    numbers = {"type": "array", "items": {"type": "integer"}}
    each = {"task": "list", "as": "item", "max": 5}
    return {
        "fetch": step(),
        "list": step("[1, 2, 3]", output=numbers),
        "flaky": sh(first_fails, idempotent=True, retry=fast_retry),
        "lint": step(needs=order_edges("fetch")),
        "each": step(foreach=each),
        "sum": step(needs=["each"]),
        "slow": step(work_s=0.15, needs=order_edges("fetch")),
        "checked": step(needs=["lint"], accept=[{"command": ["sh", "-c", "grep -q done"]}]),
        "secretive": step(needs=["flaky"], sensitive=True),
        "join": step(needs=["sum", "slow", "checked"]),
        "tolerated": sh(f"{_RECORD_EFFECT}; exit 1", idempotent=True, allow_failure=True),
        "last": step(needs=["join", *order_edges("secretive", "tolerated")]),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def effects_in(folder: Folder) -> Effects:
    """Count the attempts that the programs themselves recorded."""
    effects = (json.loads(line) for line in folder.lines("effects"))
    return Counter((effect["task"], effect["attempt"]) for effect in effects)


def succeeded_tasks(folder: Folder) -> set[str]:
    if not (folder.path / "run/ledger.jsonl").exists():
        return set()
    ended = folder.entries("run", "task.finished")
    return {entry["data"]["task"] for entry in ended if entry["data"]["status"] == "ok"}


def check_attempts(folder: Folder) -> None:
    """Check that every attempt that ran its program is recorded, and that none ran it twice."""
    effects = effects_in(folder)
    recorded = {(entry["data"]["task"], entry["data"]["attempt"]) for entry in folder.entries("run", "task.started")}

    assert [attempt for attempt in effects if attempt not in recorded] == []
    assert [attempt for attempt, times in effects.items() if times > 1] == []


def check_is_not_damaged(directory: Path) -> None:
    report = verify_ledger(ledger_at(directory), None, TrustedReferences())

    assert [finding for finding in report.findings if finding.code not in UNFINISHED_CODES] == []


def kill_after_growth(process: subprocess.Popen[bytes], ledger: Path, lines: int, after_s: float) -> bool:
    """Kill the process `after_s` seconds after the ledger grew by `lines`. Return False if it had ended before."""
    before = _lines_in(ledger)
    deadline_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and _lines_in(ledger) < before + lines and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    time.sleep(after_s)
    was_killed = process.poll() is None
    process.kill()
    process.communicate()
    return was_killed


def _lines_in(ledger: Path) -> int:
    try:
        return ledger.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


class Killer:
    """Kills `forum` at random moments, and remembers the finished tasks at each kill."""

    def __init__(self, folder: Folder, rng: random.Random) -> None:
        self._folder = folder
        self._rng = rng
        self._ledger = folder.path / "run/ledger.jsonl"
        self._finished: list[dict[str, int]] = []

    def kill(self, *arguments: str) -> bool:
        """Start and kill `forum`. Return False if it ended before it could be killed."""
        process = self._folder.start(*arguments, "--progress", "none")
        if not kill_after_growth(process, self._ledger, self._rng.randrange(24), self._rng.uniform(0, 0.03)):
            return False
        if self.has_ledger:
            check_is_not_damaged(self._ledger.parent)
            started = self._folder.attempt_counts()
            self._finished.append({task: started[task] for task in succeeded_tasks(self._folder)})
        return True

    @property
    def has_ledger(self) -> bool:
        return self._ledger.exists() and self._ledger.stat().st_size > 0

    @property
    def is_sealed(self) -> bool:
        return self.has_ledger and bool(self._folder.entries("run", "run.sealed"))

    def check_no_finished_task_ran_again(self) -> None:
        started = self._folder.attempt_counts()
        for finished in self._finished:
            assert {task: started[task] for task in finished} == finished


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("durability", ["each", "batch"])
@pytest.mark.parametrize("dispatch", ["eager", "waves"])
def test_a_run_killed_repeatedly_does_and_records_everything_once(
    folder: Folder, dispatch: str, durability: str, number: int
) -> None:
    rng = random.Random(f"{SEED}/{dispatch}/{durability}/{number}")  # noqa: S311 - no secret
    folder.write(tasks(), policy={"dispatch": dispatch, "durability": durability, "max_parallel": 3})
    killer = Killer(folder, rng)

    arguments: tuple[str, ...] = ("run", "workflow.yaml", "--out", "run")
    for _ in range(KILLS):
        if not killer.kill(*arguments) or killer.is_sealed:
            break
        if killer.has_ledger:
            arguments = ("resume", "run")
    else:
        ended = folder.forum(*arguments, "--progress", "none")
        assert ended.code == 0, ended

    check_attempts(folder)
    killer.check_no_finished_task_ran_again()
    check_valid(folder.path / "run")
    assert {task: state for task, state in folder.task_states().items() if state != "passed"} == {
        "tolerated": "tolerated: error"
    }


def test_a_task_that_is_not_idempotent_fails_if_its_outcome_is_unknown(folder: Folder) -> None:
    once = sh(f"{_RECORD_EFFECT}; touch at-work; sleep 60", needs=["before"])
    folder.write({"before": step(), "once": once, "after": step(needs=["once"])}, policy={"durability": "each"})
    process = folder.start("run", "workflow.yaml", "--out", "run")
    wait_for(folder.path / "at-work", process)
    process.kill()
    process.communicate()

    resumed = folder.forum("resume", "run")
    check_valid(folder.path / "run")
    states = folder.task_states()
    folder.write({"before": step(), "once": step(needs=["before"]), "after": step(needs=["once"])})
    again = folder.forum("resume", "run", "--failed", "--out", "second")

    assert (resumed.code, states) == (
        1,
        {"before": "passed", "once": "failed: error", "after": "skipped: upstream"},
    )
    assert again.code == 0, again
    assert (folder.reused_tasks("second"), set(folder.attempt_counts("second"))) == ({"before"}, {"once", "after"})
    assert effects_in(folder) == Counter({("before", 1): 1, ("once", 1): 2, ("after", 1): 1})
    check_valid(folder.path / "second")


def test_a_run_killed_before_its_first_task_can_be_resumed(folder: Folder) -> None:
    """Once the ledger exists, so does everything that resuming needs."""
    folder.write({"only": step()}, policy={"durability": "each"})
    for _ in range(5 * ROUNDS):
        process = folder.start("run", "workflow.yaml", "--out", "run")
        kill_after_growth(process, folder.path / "run/ledger.jsonl", 1, 0)

        ended = folder.forum("resume", "run")

        assert ended.code == 0 or "is finished" in ended.err, ended
        check_valid(folder.path / "run")
        (folder.path / "run").rename(folder.path / f"run-{process.pid}")


def make_virtual_run(folder: Folder) -> Path:
    """Make a run in virtual time that covers most kinds of entries."""
    roster = {
        "adapters": {name: {**MODEL["adapters"]["model"], "model": name} for name in ("small", "large")},
        "agents": {
            "writer": {"adapters": {"cheap": "small", "frontier": "large"}},
            "critic": {"adapter": "small"},
        },
    }
    numbers = {"type": "array", "items": {"type": "integer"}}
    judged = {"accept": [{"schema": {"minLength": 1}}, {"agent": "critic"}], "done_when": ["it is good"]}
    tasks = {
        "list": ask("List.", output=numbers),
        "each": ask("Each.", foreach={"task": "list", "as": "item", "max": 5}, retry={"attempts": 2}),
        "judged": ask("Write.", **judged, escalate=["frontier"], sensitive=True),
        "asked": ask("Go.", needs=["judged"], gate={"question": "Go?", "deadline": "1h", "on_deadline": "approve"}),
        "refused": ask("Go.", gate={"question": "Go?", "deadline": "2h", "on_deadline": "reject"}),
        "tolerated": ask("Fail.", allow_failure=True),
        "skipped": ask("Skip.", when={"task": "list", "output": {"maxItems": 1}}, needs=["list"]),
        "poor": ask("Spend.", budget={"calls": 1}, retry={"attempts": 3}),
        "end": ask("End.", needs=["each", "asked"]),
    }
    network = {"error": {"kind": "network"}}
    answers: list[dict[str, Any]] = [
        {"task": "list", "output": [1, 2, 3]},
        {"task": "each[1]", "attempt": 1, **network},
        {"task": "judged", "agent": "critic", "attempt": 1, "output": {"verdict": "fail", "reason": "too short"}},
        {"task": "judged", "agent": "critic", "output": {"verdict": "pass", "reason": "good"}},
        {"task": "tolerated", "error": {"kind": "auth"}},
        {"task": "poor", **network},
        {"output": "done", "usage": {"input_tokens": 20, "output_tokens": 9}, "latency": "2s"},
    ]
    outputs = {"end": "end", "each": "each", "judged": "judged"}
    folder.write(
        tasks, roster=roster, answers=answers, outputs=outputs, policy={"on_failure": "continue", "on_lost": "retry"}
    )
    assert folder.run("--deterministic", out="finished").code == 4
    return folder.path / "finished"


def test_a_run_cut_after_any_entry_resumes_to_the_same_outcome(folder: Folder) -> None:
    """A write of several entries may be cut anywhere, and the run can be resumed after any of them."""
    finished_run = make_virtual_run(folder)
    states = folder.task_states("finished")
    size = len(folder.entries("finished"))
    kinds = {entry["kind"] for entry in folder.entries("finished")}
    assert kinds >= {"gate.decided", "escalation.raised", "verdict.given", "task.expanded", "budget.stopped"}

    for entries in range(1, size):
        name = f"cut-{entries}"
        shutil.copytree(finished_run, folder.path / name)
        truncate_after(folder.path / name, entries)
        asyncio.run(api.resume(Workspace.at(folder.path), ResumeRequest(name)))

        report = verify_ledger(ledger_at(folder.path / name), None, TrustedReferences())
        assert (report.findings, report.status, folder.task_states(name)) == ((), "stopped", states)
        check_replay(folder.path / name)
