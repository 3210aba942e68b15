"""What changes a task's fingerprint, and what does not."""

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
import rfc8785

from unit.runner.execute.small_runs import PASS, ROSTER, RUN, WORK, RecordedRun, outputs, run

ANSWERS: list[Any] = [PASS, {"check": "command", "output": ""}, *outputs(a="one", out="x")]
TASK: dict[str, Any] = {**WORK, "needs": ["a"], "done_when": ["good"], "accept": [{"agent": "critic"}]}


def run_task(task: Mapping[str, Any], answers: list[Any] = ANSWERS, **parts: Any) -> RecordedRun:
    return run({"a": RUN, "out": task}, answers, **parts)


def fingerprint(task: Mapping[str, Any], answers: list[Any] = ANSWERS, **parts: Any) -> str:
    return str(run_task(task, answers, **parts).of_kind("task.started", "out")[0].data["fingerprint"])


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.requirement("RUN-REUSE-002")
def test_a_fingerprint_is_the_digest_of_its_lines() -> None:
    recorded = run_task(TASK)

    work = {name: recorded.plan["tasks"]["out"][name] for name in ("instruction", "done_when", "accept")}
    worker: Any = {"agent": "writer", "persona": "", "adapters": [["cheap", {"type": "scripted"}]]}
    judge: Any = {"agent": "critic", "persona": "You judge.", "adapters": [["capable", {"type": "scripted"}]]}
    delivered = ["a", digest(b"one"), "text/plain", None]
    lines = [
        rfc8785.dumps(work),
        digest(rfc8785.dumps(worker)).encode(),
        digest(rfc8785.dumps(judge)).encode(),
        rfc8785.dumps(delivered),
    ]
    assert recorded.only("task.started", "out").data["fingerprint"] == digest(b"\n".join(lines))


@pytest.mark.requirement("RUN-REUSE-002")
def test_a_salted_value_is_identified_by_its_entry_and_not_by_its_digest() -> None:
    task = {**WORK, "needs": ["a"]}

    recorded = run({"a": {**RUN, "sensitive": True}, "out": task}, ANSWERS)

    seq = recorded.seq(recorded.only("edge.delivered"))
    worker: Any = {"agent": "writer", "persona": "", "adapters": [["cheap", {"type": "scripted"}]]}
    lines = [
        rfc8785.dumps({"instruction": ["Write."]}),
        digest(rfc8785.dumps(worker)).encode(),
        rfc8785.dumps(["a", f"{recorded.run}/{seq}", "text/plain", None]),
    ]
    assert recorded.only("task.started", "out").data["fingerprint"] == digest(b"\n".join(lines))


@pytest.mark.requirement("RUN-REUSE-002")
@pytest.mark.parametrize(
    "change",
    [
        {"instruction": "Write!"},
        {"output": {"type": "string"}},
        {"done_when": ["better"]},
        {"accept": [{"command": ["check"]}]},
        {"agent": "costly"},
        {"escalate": ["frontier"]},
        {"needs": [{"task": "a", "as": "other"}]},
        {"needs": [{"task": "a", "max_bytes": 2}]},
    ],
)
def test_changed_work_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint({**TASK, **change}) != fingerprint(TASK)


@pytest.mark.requirement("RUN-REUSE-002")
def test_changed_data_changes_the_fingerprint() -> None:
    assert fingerprint(TASK, [PASS, *outputs(a="two", out="x")]) != fingerprint(TASK)


@pytest.mark.requirement("RUN-REUSE-002")
@pytest.mark.parametrize(
    "change",
    [
        {"retry": {"attempts": 3}},
        {"budget": {"calls": 9}},
        {"allow_failure": True},
        {"cache": True},
        {"idempotent": True},
        {"gate": {"question": "Go?", "deadline": "1s", "on_deadline": "approve"}},
        {"when": {"task": "a", "output": {"const": "one"}}},
        {"needs": [{"task": "a", "max_bytes": 100}]},
    ],
)
def test_scheduling_settings_do_not_change_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint({**TASK, **change}) == fingerprint(TASK)


def with_adapter(**fields: Any) -> dict[str, Any]:
    settings = {"type": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m", **fields}
    return {**ROSTER, "adapters": {**ROSTER["adapters"], "small": settings}}


@pytest.mark.requirement("RUN-REUSE-002")
@pytest.mark.parametrize(
    "fields",
    [
        {"timeout": "9s"},
        {"connect_timeout": "9s"},
        {"stream": False},
        {"prices": {"input": "1", "output": "1"}},
    ],
)
def test_connection_settings_do_not_change_the_fingerprint(fields: dict[str, Any]) -> None:
    assert fingerprint(TASK, roster=with_adapter(**fields)) == fingerprint(TASK, roster=with_adapter())


@pytest.mark.requirement("RUN-REUSE-002")
@pytest.mark.parametrize("fields", [{"model": "n"}, {"temperature": 1}, {"max_tokens": 9_000}])
def test_model_settings_change_the_fingerprint(fields: dict[str, Any]) -> None:
    assert fingerprint(TASK, roster=with_adapter(**fields)) != fingerprint(TASK, roster=with_adapter())
