"""Deterministic runs: the same ledger to the byte, on every machine and by every implementation."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import Attempt, Limits, Prompt
from forum_adapters.scripted import ScriptedAdapter
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.canonical import canonical
from forum_runner.execute.drive.virtual import EPOCH_US
from forum_runner.ledger.begin import open_ledger
from forum_runner.ledger.run_id import new_run_id
from unit.runner.execute.small_runs import PASS, RUN, WORK, ByHand, outputs, plan_of, resume_prepared, run, run_in


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "ledger.jsonl").read_text().splitlines()]


@pytest.mark.requirement("RUN-VIRTUAL-001")
def test_a_run_opens_with_what_the_plan_alone_decides(tmp_path: Path) -> None:
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
def test_an_id_is_the_time_and_ten_bytes_of_the_digest() -> None:
    # 946,684,800,000 ms are 0x00dc6acfac00; version 7 and variant 2 are written over the bits after it.
    assert new_run_id(EPOCH_US, bytes.fromhex("b19a447fd7bd4c8e652e")) == "00dc6acf-ac00-719a-847f-d7bd4c8e652e"


@pytest.mark.requirement("RUN-VIRTUAL-002")
def test_salts_are_numbered(tmp_path: Path) -> None:
    finished = run_in(tmp_path / "run", {"a": {**WORK, "sensitive": True}}, outputs(a="x"))

    with tarfile.open(tmp_path / "run" / "bodies.tar") as archive:
        members = [member for member in archive if member.name.startswith("salted/")]
        salts = [(archive.extractfile(member) or pytest.fail()).read(32) for member in members]
    assert salts == [hashlib.sha256(f"forum:salt:{finished.run}/{n}".encode()).digest() for n in (0, 1)]


@pytest.mark.requirement("RUN-VIRTUAL-002")
def test_salts_of_a_run_that_is_gone_on_with_are_others(tmp_path: Path) -> None:
    gate = {"question": "Go?"}
    tasks = {"a": {**WORK, "sensitive": True, "gate": gate}}
    run_in(tmp_path / "run", tasks, [])
    opened = next(entry for entry in lines(tmp_path / "run") if entry["kind"] == "gate.opened")
    decide(tmp_path / "run", opened)
    plan = plan_of(tasks)
    prepared = PreparedRun(plan, canonical(plan), tmp_path, "workflow.yaml", outputs(a="x"))

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
def test_an_answer_comes_after_its_latency() -> None:
    story = run({"a": WORK}, [{"output": "x", "latency": "90s"}])

    assert story.one("task.finished").at_ms == 90_000
    assert story.one("task.finished").data["usage"]["wall_ms"] == 90_000


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_an_answer_that_takes_too_long_is_a_timeout_when_time_is_over() -> None:
    story = run({"a": WORK}, [{"output": "x", "latency": "11m"}])

    finished = story.one("task.finished")
    assert (finished.at_ms, finished.data["error"]) == (600_000, "timeout")
    message = "answer 1 takes 660000 ms, but the timeout is 600000 ms"
    assert json.loads(finished.bodies["detail"]) == {"message": message}


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_an_output_that_is_too_long_is_cut() -> None:
    story = run({"a": {**WORK, "budget": {"output_bytes": 2}}}, [{"output": "xyz"}])

    finished = story.one("task.finished")
    assert (finished.data["error"], finished.bodies["reply"]) == ("output_limit", b"xy")
    assert finished.bodies["detail"] == b'{"message":"the output has 3 bytes, but the limit is 2"}'


@pytest.mark.requirement("RUN-VIRTUAL-004")
def test_of_replies_of_one_time_the_first_in_plan_order_comes_first() -> None:
    tasks = {"c": WORK, "a": WORK, "b": {**WORK, "needs": ["a"]}}
    answers = [
        {"task": "c", "output": "x", "latency": "2s"},
        {"task": "a", "output": "x", "latency": "1s"},
        {"task": "b", "output": "x", "latency": "1s"},
    ]

    story = run(tasks, answers)

    finished = [(entry.at_ms, entry.data["task"]) for entry in story.of("task.finished")]
    assert finished == [(1_000, "a"), (2_000, "c"), (2_000, "b")]


@pytest.mark.requirement("RUN-VIRTUAL-004")
def test_instances_that_answer_at_one_time_come_by_number() -> None:
    each = {**WORK, "foreach": {"task": "list", "as": "item", "max": 20}}
    tasks = {"list": {**RUN, "output": True}, "each": each}

    story = run(tasks, outputs(list=list(range(12)), each="x"), policy={"max_parallel": 12})

    finished = [entry.data["task"] for entry in story.of("task.finished")]
    assert finished == ["list", *(f"each[{number}]" for number in range(12))]


@pytest.mark.requirement("RUN-VIRTUAL-004", "RUN-ORDER-002")
def test_a_deadline_of_the_same_time_is_seen_before_a_reply() -> None:
    tasks = {"a": {**WORK, "gate": {"question": "Go?", "deadline": "1s"}}, "b": WORK, "c": WORK}
    answers = [{"task": "b", "output": "x", "latency": "1s"}, {"output": "x", "latency": "5s"}]

    story = run(tasks, answers)

    at_one_second = [brief for brief, entry in zip(story.brief, story.entries, strict=True) if entry.at_ms == 1_000]
    assert at_one_second == ["gate.decided a", "task.finished b", "task.ended b", "task.ended a"]


@pytest.mark.requirement("RUN-VIRTUAL-005")
def test_the_earliest_deadline_comes_first() -> None:
    def gate(deadline: str) -> dict[str, Any]:
        return {**WORK, "gate": {"question": "Go?", "deadline": deadline, "on_deadline": "approve"}}

    story = run({"a": gate("2h"), "b": gate("1h"), "c": {**WORK, "gate": {"question": "Go?"}}}, [{"output": "x"}])

    assert [(entry.at_ms, entry.data["task"]) for entry in story.of("gate.decided")] == [
        (3_600_000, "b"),
        (7_200_000, "a"),
    ]
    assert [entry.at_ms for entry in story.of("run.paused")] == [0, 3_600_000, 7_200_000]
    assert story.kinds[-1] == "run.paused"


def replied(answer: dict[str, Any], prompt: Prompt, **call: Any) -> bytes | str | None:
    """What a scripted call gets, the kind of its error, or None if no answer is for it."""
    attempt = Attempt("id", "run", "a", 1, "small", {}, prompt, Limits(600_000, 1_000), **{"agent": "writer", **call})
    reply, _ = ScriptedAdapter("small", {"answers": [answer]}).predict(attempt)
    if reply.failure is None:
        return reply.content
    return None if reply.failure.message.startswith("no answer") else str(reply.failure.kind)


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize(
    ("conditions", "is_taken"),
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
def test_an_answer_is_taken_if_all_its_conditions_hold(conditions: dict[str, Any], is_taken: bool) -> None:
    found = replied({**conditions, "output": "x"}, Prompt("sys", "the text"))

    assert found == (b"x" if is_taken else None)


@pytest.mark.requirement("RUN-VIRTUAL-006")
@pytest.mark.parametrize(("contains", "is_taken"), [("git", True), ("piped", True), ("hg", False)])
def test_arguments_and_standard_input_are_looked_at(contains: str, is_taken: bool) -> None:
    prompt = Prompt(argv=("git", "log"), stdin=b"piped")

    assert replied({"contains": contains, "output": "x"}, prompt) == (b"x" if is_taken else None)


@pytest.mark.requirement("RUN-VIRTUAL-006")
def test_the_first_answer_counts_and_a_check_is_told_by_its_attempt() -> None:
    answers = [
        {"task": "a", "attempt": 1, "agent": "writer", "output": "x"},
        {**PASS, "attempt": 2},
        {"agent": "critic", "output": {"verdict": "fail", "reason": "bad"}},
        {"task": "a", "output": "y"},
    ]

    story = run({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}}, answers)

    assert [entry.data["verdict"] for entry in story.of("verdict.given")] == ["fail", "pass"]
    assert [entry.bodies["output"] for entry in story.of("task.finished")] == [b"x", b"y"]


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
def test_a_text_is_replied_as_it_is_and_all_else_as_json(output: Any, schema: Any, content: bytes) -> None:
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
def test_a_program_ends_with_a_status(answer: dict[str, Any], status: int) -> None:
    assert run({"a": RUN}, [answer]).one("task.finished").data["exit_status"] == status


@pytest.mark.requirement("RUN-VIRTUAL-006", "RUN-READ-007")
def test_a_call_that_no_answer_is_for_is_refused_at_once() -> None:
    finished = run({"a": WORK}, [{"task": "a", "attempt": 7, "output": "x", "latency": "9s"}]).one("task.finished")

    assert (finished.at_ms, finished.data["error"]) == (0, "invalid_request")


@pytest.mark.requirement("RUN-VIRTUAL-004")
def test_two_runs_are_the_same_to_the_byte(tmp_path: Path) -> None:
    tasks = {"a": {**WORK, "sensitive": True}, "b": {**WORK, "needs": ["a"], "retry": {"attempts": 3}}}
    answers = [{"task": "b", "attempt": 1, "error": {"kind": "network"}}, {"output": "x", "latency": "1s"}]

    for name in ("one", "two"):
        run_in(tmp_path / name, tasks, answers, outputs={"o": "b"})

    for file in ("ledger.jsonl", "bodies.tar", "checkpoint", "wave-plan.json", "outputs/o.txt"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.requirement("RUN-VIRTUAL-003")
def test_handling_takes_no_time() -> None:
    hand = ByHand({"a": WORK})
    hand.reply("a", "x")

    assert {entry.at_ms for entry in hand.story.entries} == {0}
