"""What a fingerprint is made of: what changes it, and what does not."""

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
import rfc8785

from unit.runner.execute.small_runs import PASS, ROSTER, RUN, WORK, Story, outputs, run

SAID: list[Any] = [PASS, {"check": "command", "output": ""}, *outputs(a="one", out="x")]
TASK: dict[str, Any] = {**WORK, "needs": ["a"], "done_when": ["good"], "accept": [{"agent": "critic"}]}


def told(task: Mapping[str, Any], answers: list[Any] = SAID, **parts: Any) -> Story:
    return run({"a": RUN, "out": task}, answers, **parts)


def fingerprint(task: Mapping[str, Any], answers: list[Any] = SAID, **parts: Any) -> str:
    return str(told(task, answers, **parts).of("task.started", "out")[0].data["fingerprint"])


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.requirement("RUN-REUSE-002")
def test_a_fingerprint_is_the_digest_of_its_lines() -> None:
    story = told(TASK)

    work = {name: story.plan["tasks"]["out"][name] for name in ("instruction", "done_when", "accept")}
    worker: Any = {"agent": "writer", "persona": "", "adapters": [["cheap", {"type": "scripted"}]]}
    judge: Any = {"agent": "critic", "persona": "You judge.", "adapters": [["capable", {"type": "scripted"}]]}
    given = ["a", digest(b"one"), "text/plain", None]
    lines = [
        rfc8785.dumps(work),
        digest(rfc8785.dumps(worker)).encode(),
        digest(rfc8785.dumps(judge)).encode(),
        rfc8785.dumps(given),
    ]
    assert story.one("task.started", "out").data["fingerprint"] == digest(b"\n".join(lines))


@pytest.mark.requirement("RUN-REUSE-002")
def test_a_salted_value_goes_in_by_its_place_and_not_by_its_digest() -> None:
    task = {**WORK, "needs": ["a"]}

    story = run({"a": {**RUN, "sensitive": True}, "out": task}, SAID)

    seq = story.seq(story.one("edge.delivered"))
    worker: Any = {"agent": "writer", "persona": "", "adapters": [["cheap", {"type": "scripted"}]]}
    lines = [
        rfc8785.dumps({"instruction": ["Write."]}),
        digest(rfc8785.dumps(worker)).encode(),
        rfc8785.dumps(["a", f"{story.run}/{seq}", "text/plain", None]),
    ]
    assert story.one("task.started", "out").data["fingerprint"] == digest(b"\n".join(lines))


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
def test_other_work_has_another_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint({**TASK, **change}) != fingerprint(TASK)


@pytest.mark.requirement("RUN-REUSE-002")
def test_other_data_has_another_fingerprint() -> None:
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
def test_when_and_how_often_it_is_done_does_not_matter(change: dict[str, Any]) -> None:
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
def test_how_an_adapter_is_reached_does_not_matter(fields: dict[str, Any]) -> None:
    assert fingerprint(TASK, roster=with_adapter(**fields)) == fingerprint(TASK, roster=with_adapter())


@pytest.mark.requirement("RUN-REUSE-002")
@pytest.mark.parametrize("fields", [{"model": "n"}, {"temperature": 1}, {"max_tokens": 9_000}])
def test_who_answers_matters(fields: dict[str, Any]) -> None:
    assert fingerprint(TASK, roster=with_adapter(**fields)) != fingerprint(TASK, roster=with_adapter())
