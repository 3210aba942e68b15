"""Deterministic runs: byte-identical ledgers on every machine and from every implementation."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import Attempt, Limits, Prompt
from forum_adapters.scripted import ScriptedAdapter
from forum_runner.canonical import canonical
from forum_runner.execute.drive import EPOCH_US
from forum_runner.ledger.begin import open_ledger
from forum_runner.ledger.run_id import new_run_id
from unit.runner.execute.small_runs import (
    PASS,
    RUN,
    WORK,
    ManualRun,
    outputs,
    plan_of,
    prepared_run,
    resume_prepared,
    run,
    run_in,
)


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "ledger.jsonl").read_text().splitlines()]


@pytest.mark.requirement("RUN-VIRTUAL-001")
def test_the_first_entry_depends_only_on_the_plan(tmp_path: Path) -> None:
    finished = run_in(tmp_path / "run", {"a": WORK}, outputs(a="x"))

    opened = lines(tmp_path / "run")[0]
    plan = plan_of({"a": WORK})
    assert opened["at"] == "2000-01-01T00:00:00.000000Z"
    assert opened["data"] == {
        "format": 1,
        "implementation": {"name": "deterministic", "version": "1"},
        "mode": "deterministic",
        "wave_plan": plan["digest"],
        "bundle": hashlib.sha256(canonical(plan["bundle"])).hexdigest(),
    }
    assert finished.run == opened["run"]


@pytest.mark.requirement("RUN-VIRTUAL-001")
def test_the_run_id_consists_of_the_time_and_ten_bytes_of_the_digest() -> None:
    # 946,684,800,000 ms is 0x00dc6acfac00; version 7 and variant 2 overwrite some of the bits that follow.
    assert new_run_id(EPOCH_US, bytes.fromhex("b19a447fd7bd4c8e652e")) == "00dc6acf-ac00-719a-847f-d7bd4c8e652e"


@pytest.mark.requirement("RUN-VIRTUAL-002")
def test_salts_are_numbered(tmp_path: Path) -> None:
    finished = run_in(tmp_path / "run", {"a": {**WORK, "sensitive": True}}, outputs(a="x"))

    with tarfile.open(tmp_path / "run" / "bodies.tar") as archive:
        members = [member for member in archive if member.name.startswith("salted/")]
        salts = [(archive.extractfile(member) or pytest.fail()).read(32) for member in members]
    assert salts == [hashlib.sha256(f"forum:salt:{finished.run}/{n}".encode()).digest() for n in (0, 1)]


@pytest.mark.requirement("RUN-VIRTUAL-002")
def test_a_resumed_run_uses_different_salts(tmp_path: Path) -> None:
    gate = {"question": "Go?"}
    tasks = {"a": {**WORK, "sensitive": True, "gate": gate}}
    run_in(tmp_path / "run", tasks, [])
    opened = next(entry for entry in lines(tmp_path / "run") if entry["kind"] == "gate.opened")
    decide(tmp_path / "run", opened)
    plan = plan_of(tasks)
    prepared = prepared_run(plan, tmp_path, outputs(a="x"))

    resume_prepared(tmp_path / "run", prepared)

    started = next(entry for entry in lines(tmp_path / "run") if entry["kind"] == "task.started")
    salt = hashlib.sha256(f"forum:salt:{started['run']}/resumed/{started['seq']}/0".encode()).digest()
    body = b'{"system":"","text":"Write."}'
    digest = hashlib.sha256(b"forum:salted:v1\n" + salt + body).hexdigest()
    assert started["bodies"]["prompt"]["digest"] == digest


def decide(directory: Path, opened: dict[str, Any]) -> None:
    data = {
        "task": "a",
        "decision": "approved",
        "by": "person",
        "authenticated": False,
        "displayed": opened["bodies"]["displayed"]["digest"],
    }
    with open_ledger(directory, clock=lambda: EPOCH_US) as ledger:
        ledger.append("gate.decided", data, causes=[opened["seq"]], actor="person:ann")


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_an_answer_arrives_after_its_latency() -> None:
    recorded = run({"a": WORK}, [{"output": "x", "latency": "90s"}])

    assert recorded.only("task.finished").at_ms == 90_000
    assert recorded.only("task.finished").data["usage"]["wall_ms"] == 90_000


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_an_answer_slower_than_the_timeout_is_a_timeout_error() -> None:
    recorded = run({"a": WORK}, [{"output": "x", "latency": "11m"}])

    finished = recorded.only("task.finished")
    assert (finished.at_ms, finished.data["error"]) == (600_000, "timeout")
    message = "answer 1 takes 660000 ms, but the timeout is 600000 ms"
    assert json.loads(finished.bodies["detail"]) == {"message": message}


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_an_output_over_the_limit_is_truncated() -> None:
    recorded = run({"a": {**WORK, "budget": {"output_bytes": 2}}}, [{"output": "xyz"}])

    finished = recorded.only("task.finished")
    assert (finished.data["error"], finished.bodies["reply"]) == ("output_limit", b"xy")
    assert finished.bodies["detail"] == b'{"message":"the output has 3 bytes, but the limit is 2"}'


@pytest.mark.requirement("RUN-VIRTUAL-004")
def test_simultaneous_replies_are_handled_in_plan_order() -> None:
    tasks = {"c": WORK, "a": WORK, "b": {**WORK, "needs": ["a"]}}
    answers = [
        {"task": "c", "output": "x", "latency": "2s"},
        {"task": "a", "output": "x", "latency": "1s"},
        {"task": "b", "output": "x", "latency": "1s"},
    ]

    recorded = run(tasks, answers)

    finished = [(entry.at_ms, entry.data["task"]) for entry in recorded.of_kind("task.finished")]
    assert finished == [(1_000, "a"), (2_000, "c"), (2_000, "b")]


@pytest.mark.requirement("RUN-VIRTUAL-004")
def test_simultaneous_replies_of_instances_are_handled_by_number() -> None:
    each = {**WORK, "foreach": {"task": "list", "as": "item", "max": 20}}
    tasks = {"list": {**RUN, "output": True}, "each": each}

    recorded = run(tasks, outputs(list=list(range(12)), each="x"), policy={"max_parallel": 12})

    finished = [entry.data["task"] for entry in recorded.of_kind("task.finished")]
    assert finished == ["list", *(f"each[{number}]" for number in range(12))]


@pytest.mark.requirement("RUN-VIRTUAL-004", "RUN-ORDER-002")
def test_a_deadline_is_handled_before_a_simultaneous_reply() -> None:
    tasks = {"a": {**WORK, "gate": {"question": "Go?", "deadline": "1s"}}, "b": WORK, "c": WORK}
    answers = [{"task": "b", "output": "x", "latency": "1s"}, {"output": "x", "latency": "5s"}]

    recorded = run(tasks, answers)

    at_one_second = [
        brief for brief, entry in zip(recorded.brief, recorded.entries, strict=True) if entry.at_ms == 1_000
    ]
    assert at_one_second == ["gate.decided a", "task.finished b", "task.ended b", "task.ended a"]


@pytest.mark.requirement("RUN-VIRTUAL-005")
def test_deadlines_are_handled_in_order_of_time() -> None:
    def gate(deadline: str) -> dict[str, Any]:
        return {**WORK, "gate": {"question": "Go?", "deadline": deadline, "on_deadline": "approve"}}

    recorded = run({"a": gate("2h"), "b": gate("1h"), "c": {**WORK, "gate": {"question": "Go?"}}}, [{"output": "x"}])

    assert [(entry.at_ms, entry.data["task"]) for entry in recorded.of_kind("gate.decided")] == [
        (3_600_000, "b"),
        (7_200_000, "a"),
    ]
    assert [entry.at_ms for entry in recorded.of_kind("run.paused")] == [0, 3_600_000, 7_200_000]
    assert recorded.kinds[-1] == "run.paused"


def replied(answer: dict[str, Any], prompt: Prompt, **call: Any) -> bytes | str | None:
    """Return the reply to a scripted call, the kind of its error, or None if no answer matches."""
    attempt = Attempt("id", "run", "a", 1, "small", {}, prompt, Limits(600_000, 1_000), **{"agent": "writer", **call})
    reply, _ = ScriptedAdapter("small", {"answers": [answer]}).predict(attempt)
    if reply.failure is None:
        return reply.content
    return None if reply.failure.message.startswith("no answer") else str(reply.failure.kind)


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize(
    ("conditions", "is_used"),
    [
        ({}, True),
        ({"task": "a"}, True),
        ({"task": "b"}, False),
        ({"agent": "writer"}, True),
        ({"agent": "critic"}, False),
        ({"attempt": 1}, True),
        ({"attempt": 2}, False),
        ({"contains": "sys"}, True),
        ({"contains": "the text"}, True),
        ({"contains": "Text"}, False),
        ({"check": "command"}, False),
    ],
)
def test_an_answer_is_used_if_all_its_conditions_match(conditions: dict[str, Any], is_used: bool) -> None:
    reply = replied({**conditions, "output": "x"}, Prompt("sys", "the text"))

    assert reply == (b"x" if is_used else None)


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize(("contains", "is_used"), [("git", True), ("piped", True), ("hg", False)])
def test_contains_searches_arguments_and_standard_input(contains: str, is_used: bool) -> None:
    prompt = Prompt(argv=("git", "log"), stdin=b"piped")

    assert replied({"contains": contains, "output": "x"}, prompt) == (b"x" if is_used else None)


@pytest.mark.requirement("RUN-VIRTUAL-006")
def test_the_first_matching_answer_is_used_and_checks_match_by_attempt() -> None:
    answers = [
        {"task": "a", "attempt": 1, "agent": "writer", "output": "x"},
        {**PASS, "attempt": 2},
        {"agent": "critic", "output": {"verdict": "fail", "reason": "bad"}},
        {"task": "a", "output": "y"},
    ]

    recorded = run({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}}, answers)

    assert [entry.data["verdict"] for entry in recorded.of_kind("verdict.given")] == ["fail", "pass"]
    assert [entry.bodies["output"] for entry in recorded.of_kind("task.finished")] == [b"x", b"y"]


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize(
    ("output", "schema", "content"),
    [
        ("x", None, b"x"),
        ("x", True, b'"x"'),
        ({"b": "é", "a": [1, None]}, None, '{"a":[1,null],"b":"é"}'.encode()),
        (7, None, b"7"),
    ],
)
def test_a_text_is_returned_unchanged_and_other_values_as_json(output: Any, schema: Any, content: bytes) -> None:
    assert replied({"output": output}, Prompt(text="t", output_schema=schema)) == content


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"output": "x"}, 0),
        ({"error": {"kind": "exit_status"}}, 1),
        ({"error": {"kind": "exit_status", "exit_status": 3}}, 3),
    ],
)
def test_a_scripted_program_has_an_exit_status(answer: dict[str, Any], status: int) -> None:
    assert run({"a": RUN}, [answer]).only("task.finished").data["exit_status"] == status


@pytest.mark.requirement("RUN-VIRTUAL-006", "RUN-READ-007")
def test_a_call_without_a_matching_answer_fails_at_once() -> None:
    finished = run({"a": WORK}, [{"task": "a", "attempt": 7, "output": "x", "latency": "9s"}]).only("task.finished")

    assert (finished.at_ms, finished.data["error"]) == (0, "invalid_request")


@pytest.mark.requirement("RUN-VIRTUAL-004")
def test_two_runs_are_byte_identical(tmp_path: Path) -> None:
    tasks = {"a": {**WORK, "sensitive": True}, "b": {**WORK, "needs": ["a"], "retry": {"attempts": 3}}}
    answers = [{"task": "b", "attempt": 1, "error": {"kind": "network"}}, {"output": "x", "latency": "1s"}]

    for name in ("one", "two"):
        run_in(tmp_path / name, tasks, answers, outputs={"o": "b"})

    for file in ("ledger.jsonl", "bodies.tar", "checkpoint", "wave-plan.json", "outputs/o.txt"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_handling_an_event_takes_no_virtual_time() -> None:
    manual = ManualRun({"a": WORK})
    manual.reply("a", "x")

    assert {entry.at_ms for entry in manual.recorded.entries} == {0}
