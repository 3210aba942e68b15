"""Every final state of a task or run is distinct in the ledger, in the output and in the exit code."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, SHELL, Folder, Result, ask, check_valid, sh

_TIME_LIMIT_S = 50
ENDED_EARLY = r"'sh' was ended after \d+ ms: its budget leaves \d+ ms, and \d+ ms are reserved for ending it\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def printed_states(result: Result) -> dict[str, str]:
    """The state and reason of each task in the printed table."""
    table = result.out[result.out.index("\ntask ") :].strip().partition("\n\n")[0].splitlines()[1:]
    states = (line.split() for line in table)
    return {words[0]: ": ".join(words[1 : 2 + _has_reason(words)]) for words in states}


def _has_reason(words: list[str]) -> bool:
    return len(words) > 2 and words[1] != "passed"


FAILING = {
    "fails": sh("exit 3"),
    "passes": sh("echo fine"),
    "tolerated": sh("exit 4", allow_failure=True),
    "needs": sh("cat", needs=["fails"]),
    "ordered": sh("echo", needs=[{"task": "fails", "edge": "order"}]),
    "far": sh("cat", needs=["needs"]),
    "beside": sh("sleep 0.2; echo beside", needs=[{"task": "passes", "edge": "order"}]),
    "unwanted": sh("echo", when={"task": "passes", "output": {"const": "other"}}, needs=["passes"]),
    "after-tolerated": sh("echo", needs=[{"task": "tolerated", "edge": "order"}]),
}
_ALWAYS = {
    "fails": "failed: error",
    "passes": "passed",
    "tolerated": "tolerated: error",
    "needs": "skipped: upstream",
    "far": "skipped: upstream",
    "unwanted": "skipped: condition",
}
STATES_BY_RULE: dict[str, dict[str, str]] = {
    "stop": {
        **_ALWAYS,
        "ordered": "skipped: upstream",
        "beside": "skipped: failure",
        "unwanted": "skipped: failure",
        "after-tolerated": "skipped: failure",
    },
    "skip-dependents": {
        **_ALWAYS,
        "ordered": "skipped: upstream",
        "beside": "passed",
        "after-tolerated": "passed",
    },
    "continue": {**_ALWAYS, "ordered": "passed", "beside": "passed", "after-tolerated": "passed"},
}


@pytest.mark.parametrize("rule", STATES_BY_RULE)
def test_on_failure_decides_what_happens_to_the_other_tasks(folder: Folder, rule: str) -> None:
    folder.write(FAILING, policy={"on_failure": rule})

    result = folder.run()

    assert result.code == 1, result
    assert folder.task_states() == STATES_BY_RULE[rule]
    assert printed_states(result) == STATES_BY_RULE[rule]
    assert result.out.startswith("failed (exit 1)")
    check_valid(folder.path / "run")


def test_a_run_with_only_tolerated_failures_passes_and_reports_them(folder: Folder) -> None:
    folder.write({"tolerated": sh("echo bad >&2; exit 4", allow_failure=True), "passes": sh("echo")})

    result = folder.run()

    assert (result.code, folder.entries()[-1]["data"]["status"]) == (0, "passed")
    assert result.out.startswith("passed: 1 tolerated, 1 passed")
    assert printed_states(result)["tolerated"] == "tolerated: error"


def test_a_rejected_task_is_refused_not_failed_or_skipped(folder: Folder) -> None:
    tasks = {"asked": sh("touch ran", gate={"question": "?"}), "after": sh("cat", needs=["asked"])}
    folder.write(tasks)
    paused = folder.run()
    folder.forum("gate", "reject", "run", "asked", "--by", "ann", "--reason", "not today")

    result = folder.forum("resume", "run")

    assert (paused.code, result.code) == (5, 6), result
    assert folder.task_states() == {"asked": "refused: rejected", "after": "skipped: upstream"}
    assert printed_states(result) == folder.task_states()
    assert not (folder.path / "ran").exists()
    check_valid(folder.path / "run")


_PRICED = {**MODEL["adapters"]["model"], "max_tokens": 500, "prices": {"input": "1", "output": "1"}}
_USAGE = {"input_tokens": 200, "output_tokens": 300}
_AFTER_FIRST = {"when": {"task": "first", "output": {"const": "done"}}}
BUDGETS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "calls of the run": (
        "run",
        "calls",
        {"calls": 2},
        "the budget of the run: 2 of 2 calls used; the next call needs 1",
    ),
    "tokens of the run": ("run", "tokens", {"tokens": 1_350}, "the budget of the run: 1,000 of 1,350 tokens used"),
    "money of the run": ("run", "micro_usd", {"usd": "0.00135"}, "the budget of the run: $0.0010 of $0.001350 used"),
    "calls of an agent": ("agent", "calls", {"calls": 2}, "the budget of the agent 'writer': 2 of 2 calls used"),
    "calls of a task": ("task", "calls", {"calls": 1}, "the budget of the task 'third': 1 of 1 call used"),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_budget_stops_a_task_that_would_exceed_it_and_keeps_finished_work(folder: Folder, name: str) -> None:
    scope, amount, limit, message = BUDGETS[name]
    tasks = {
        "first": ask("One."),
        "second": ask("Two.", needs=["first"], **_AFTER_FIRST),
        "third": ask("Three.", needs=["second"], **_AFTER_FIRST),
    }
    answers: list[dict[str, Any]] = [{"output": "done", "usage": _USAGE}]
    agent: dict[str, Any] = {"adapter": "model"}
    policy: dict[str, Any] = {}
    if scope == "task":
        tasks["third"] |= {"budget": limit, "retry": {"attempts": 2}}
        answers.insert(0, {"task": "third", "error": {"kind": "network"}})
    elif scope == "agent":
        agent["limits"] = limit
    else:
        policy["budget"] = limit
    roster = {"adapters": {"model": _PRICED}, "agents": {"writer": agent}}
    folder.write(tasks, roster=roster, policy=policy, answers=answers, outputs={"second": "second", "third": "third"})

    result = folder.run("--deterministic")

    assert result.code == 4, result
    assert folder.task_states() == {"first": "passed", "second": "passed", "third": "stopped: budget"}
    stopped = [entry["data"] for entry in folder.entries("run", "budget.stopped")]
    assert [(stop["scope"], stop["amount"]) for stop in stopped] == [(scope, amount)]
    assert folder.read("run/outputs/second.txt") == "done"
    assert result.out.startswith("stopped (exit 4): 1 stopped, 2 passed")
    assert f"stopped by {message}" in result.out, result.out
    check_valid(folder.path / "run")


def test_an_exhausted_time_budget_terminates_running_tasks(folder: Folder) -> None:
    """The runner terminates the running program instead of waiting for it."""
    tasks = {"quick": sh("echo x"), "slow": sh("exec sleep 60"), "behind": sh("cat", needs=["slow"])}
    folder.write(tasks, policy={"budget": {"wall": "1s"}}, outputs={"quick": "quick"})
    start_s = time.monotonic()

    result = folder.run()

    assert time.monotonic() - start_s < _TIME_LIMIT_S
    assert result.code == 4, result
    assert folder.task_states() == {"quick": "passed", "slow": "stopped: budget", "behind": "stopped: budget"}
    assert "of 1.0s used" in result.out, result.out
    assert re.search(ENDED_EARLY, result.out), result.out
    assert folder.read("run/outputs/quick.txt") == "x"
    check_valid(folder.path / "run")


@pytest.mark.parametrize("scope", ["task", "adapter"])
def test_a_call_that_exceeds_its_timeout_is_terminated(folder: Folder, scope: str) -> None:
    roster = SHELL
    slow = sh("exec sleep 60")
    if scope == "task":
        slow["budget"] = {"wall": "300ms"}
    else:
        roster = {**SHELL, "adapters": {"shell": {**SHELL["adapters"]["shell"], "timeout": "300ms"}}}
    folder.write({"slow": slow}, roster=roster)
    start_s = time.monotonic()

    result = folder.run()

    assert time.monotonic() - start_s < _TIME_LIMIT_S
    expected = (4, {"slow": "stopped: budget"}) if scope == "task" else (1, {"slow": "failed: error"})
    assert (result.code, folder.task_states()) == expected, result
    message = ENDED_EARLY if scope == "task" else "'sh' took longer than 300 ms"
    assert re.search(message, result.out), result.out
    assert folder.entries("run", "task.finished")[0]["data"]["error"] == "timeout"
    check_valid(folder.path / "run")


def test_a_program_is_terminated_when_its_output_exceeds_the_limit(folder: Folder) -> None:
    roster = {**SHELL, "adapters": {"shell": {**SHELL["adapters"]["shell"], "max_output_bytes": 1000}}}
    folder.write({"endless": sh("exec yes")}, roster=roster)

    result = folder.run()

    assert (result.code, folder.task_states()) == (1, {"endless": "failed: error"}), result
    assert folder.entries("run", "task.finished")[0]["data"]["error"] == "output_limit"
    assert (folder.path / "run/bodies.tar").stat().st_size < 100_000
    check_valid(folder.path / "run")
