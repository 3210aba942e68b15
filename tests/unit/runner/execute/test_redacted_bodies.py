"""Resuming a run whose bodies were redacted while it was paused."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine import Reusable
from forum_runner.ledger.body import TEXT, Body
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.recorded_body import AnyBody, RecordedBody
from unit.runner.execute.small_runs import RUN, WORK, Entry, ManualRun, RecordedRun, outputs, run

CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
NEEDS_A = {**WORK, "needs": ["a"]}
TYPED = {**RUN, "output": {"type": "array"}}


def digest_of(content: str) -> str:
    return sha256(content.encode()).hexdigest()


def redacted(content: str, type_: str = TEXT) -> RecordedBody:
    """Return a body as a process reads it after its redaction."""
    reference = BodyReference(bytes=len(content), digest=digest_of(content), type=type_)
    return RecordedBody(reference, BodyReader(BytesIO()))


def without(recorded: RecordedRun, *contents: str) -> RecordedRun:
    """Return the same run with these bodies redacted."""
    lost = {content.encode(): content for content in contents}
    return replace(
        recorded,
        stored=[{name: _redact_if_lost(body, lost) for name, body in bodies.items()} for bodies in recorded.stored],
    )


def _redact_if_lost(body: AnyBody, lost: Mapping[bytes, str]) -> AnyBody:
    return redacted(lost[body.data], body.type) if body.data in lost else body


def truncated_before(recorded: RecordedRun, kind: str, task: str) -> RecordedRun:
    """Return the entries of a process that was killed before this entry."""
    index = recorded.brief.index(f"{kind} {task}")
    return replace(recorded, entries=recorded.entries[:index], stored=recorded.stored[:index])


def interrupted(tasks: dict[str, Any], *replies: tuple[str, str], **parts: Any) -> RecordedRun:
    """Execute a run that is interrupted after these replies."""
    manual = ManualRun(tasks, **parts)
    for task, content in replies:
        manual.reply(task, content)
    manual.interrupt()
    for task in list(manual.open):
        manual.reply(task, "", failure=CANCELLED)
    return manual.recorded


def message_of(entry: Entry) -> str:
    return entry.bodies["detail"].decode().removeprefix('{"message":"').removesuffix('"}')


def unavailable(description: str, content: str, verb: str = "is") -> str:
    return f"{description} {verb} unavailable: body {digest_of(content)} was redacted"


@pytest.mark.requirement("RUN-HAND-001")
def test_a_task_with_redacted_data_fails_and_the_others_continue() -> None:
    tasks = {"a": WORK, "b": {**WORK, "needs": ["a", {"task": "c", "edge": "order"}]}, "c": WORK}
    parts = {"policy": {"on_failure": "continue"}}
    paused = interrupted(tasks, ("a", "one"), **parts)

    resumed = ManualRun(tasks, resumed_from=without(paused, "one"), **parts)
    resumed.reply("c", "three")

    assert resumed.recorded.ends == {"c": "passed", "b": "failed/expects"}
    assert message_of(resumed.recorded.only("task.ended", "b")) == unavailable("the value for 'a'", "one")
    assert resumed.recorded.status == "failed"


@pytest.mark.requirement("RUN-HAND-001")
@pytest.mark.parametrize(
    ("needs", "end"),
    [
        ({"allow_failure": True}, "tolerated/expects"),
        ({"needs": [{"task": "a", "select": "/0"}]}, "failed/expects"),
    ],
)
def test_redacted_data_fails_a_task_like_any_missing_value(needs: dict[str, Any], end: str) -> None:
    tasks = {"a": TYPED, "b": {**NEEDS_A, **needs}}
    paused = truncated_before(run(tasks, outputs(a=["one"], b="two")), "edge.delivered", "b")

    resumed = ManualRun(tasks, resumed_from=without(paused, '["one"]'))

    assert resumed.recorded.ends == {"b": end}


@pytest.mark.requirement("RUN-WHEN-001")
def test_a_condition_on_a_redacted_output_is_false() -> None:
    order = {"task": "a", "edge": "order"}
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": [order, "b"], "when": {"task": "a", "output": True}}}
    paused = interrupted(tasks, ("a", "one"))

    resumed = ManualRun(tasks, resumed_from=without(paused, "one"))
    resumed.reply("b", "two")

    assert resumed.recorded.ends == {"b": "passed", "c": "skipped/condition"}
    assert resumed.recorded.status == "passed"


@pytest.mark.requirement("RUN-EXPAND-001", "RUN-HAND-001")
def test_redacted_items_and_instance_outputs_are_unavailable() -> None:
    each = {**WORK, "foreach": {"task": "a", "as": "item", "max": 3}}
    tasks = {"a": TYPED, "b": each, "c": {**WORK, "needs": ["b"]}}
    complete = run(tasks, [*outputs(a=["x"], c="three"), {"output": "two"}])

    unexpanded = ManualRun(tasks, resumed_from=without(truncated_before(complete, "task.expanded", "b"), '["x"]'))
    expanded = ManualRun(tasks, resumed_from=without(truncated_before(complete, "edge.delivered", "b[0]"), '["x"]'))
    collected = ManualRun(tasks, resumed_from=without(truncated_before(complete, "edge.delivered", "c"), "two"))

    assert message_of(unexpanded.recorded.only("task.ended", "b")) == unavailable("the items", '["x"]', "are")
    assert message_of(expanded.recorded.only("task.ended", "b[0]")) == unavailable("the value for 'item'", '["x"]')
    assert message_of(collected.recorded.only("task.ended", "c")) == unavailable("the value for 'b'", "two")


@pytest.mark.requirement("RUN-SEAL-001")
def test_a_redacted_plan_output_is_not_recorded() -> None:
    tasks = {"a": WORK, "b": WORK}
    paused = interrupted(tasks, ("a", "one"), outputs={"x": "a", "y": "b"})

    resumed = ManualRun(tasks, resumed_from=without(paused, "one"), outputs={"x": "a", "y": "b"})
    resumed.reply("b", "two")

    assert [entry.data["output"] for entry in resumed.recorded.of_kind("answer.given")] == ["y"]
    assert resumed.recorded.status == "passed"


@pytest.mark.requirement("RUN-RESUME-002")
def test_an_attempt_is_not_retried_if_its_data_was_redacted() -> None:
    tasks = {"a": RUN, "b": {**NEEDS_A, "idempotent": True}}
    first = ManualRun(tasks)
    first.reply("a", "one")

    resumed = ManualRun(tasks, resumed_from=without(first.recorded, "one"))

    assert resumed.recorded.brief == ["run.resumed", "task.lost b", "task.ended b", "run.sealed"]
    assert resumed.recorded.ends == {"b": "failed/expects"}
    assert message_of(resumed.recorded.only("task.ended")) == unavailable("the value for 'a'", "one")


@pytest.mark.requirement("RUN-RESUME-002")
def test_the_run_does_not_wait_for_a_retry_whose_data_was_redacted() -> None:
    tasks = {"a": RUN, "b": {**NEEDS_A, "retry": {"attempts": 2, "backoff": "1h"}}}
    first = ManualRun(tasks)
    first.reply("a", "one")
    first.reply("b", "", failure=Failure(ErrorKind.NETWORK))

    resumed = ManualRun(tasks, resumed_from=without(first.recorded, "one"))

    assert resumed.recorded.ends == {"b": "failed/expects"}


@pytest.mark.requirement("RUN-RESUME-002")
def test_an_accepted_result_does_not_need_redacted_bodies() -> None:
    tasks = {"a": RUN, "b": NEEDS_A}
    paused = truncated_before(run(tasks, outputs(a="one", b="two")), "task.ended", "b")

    resumed = ManualRun(tasks, resumed_from=without(paused, "one", "two"))

    assert resumed.recorded.ends == {"b": "passed"}


CHECKS: dict[str, dict[str, Any]] = {
    "agent": {"agent": "critic"},
    "command": {"command": ["grep", "${{ needs.a }}"]},
    "schema": {"schema": {"type": "string"}},
}


def at_a_check(by: str) -> tuple[dict[str, Any], RecordedRun]:
    """Return a run that was killed after `b` produced its output and before the check."""
    tasks = {"a": RUN, "b": {**NEEDS_A, "accept": [CHECKS[by]], "retry": {"attempts": 2}}}
    first = ManualRun(tasks)
    first.reply("a", "one")
    first.reply("b", "two")
    kind = "verdict.given" if by == "schema" else "verdict.asked"
    return tasks, truncated_before(first.recorded, kind, "b")


@pytest.mark.requirement("RUN-RESUME-002")
@pytest.mark.parametrize("by", CHECKS)
def test_a_redacted_output_cannot_be_checked(by: str) -> None:
    tasks, paused = at_a_check(by)

    resumed = ManualRun(tasks, resumed_from=without(paused, "two"))

    assert resumed.recorded.ends == {"b": "failed/expects"}
    assert message_of(resumed.recorded.only("task.ended")) == unavailable("the output to check", "two")


@pytest.mark.requirement("RUN-RESUME-002")
def test_a_check_needs_only_the_data_its_command_refers_to() -> None:
    tasks, paused = at_a_check("command")
    judged_tasks, judged_run = at_a_check("agent")

    by_command = ManualRun(tasks, resumed_from=without(paused, "one"))
    by_agent = ManualRun(judged_tasks, resumed_from=without(judged_run, "one"))

    assert message_of(by_command.recorded.only("task.ended")) == unavailable("the value for 'a'", "one")
    assert by_agent.recorded.brief == ["run.resumed", "verdict.asked b"]


@pytest.mark.requirement("RUN-RESUME-002")
def test_a_retry_after_a_failed_check_needs_all_data_of_the_first_attempt() -> None:
    tasks, paused = at_a_check("agent")
    resumed = ManualRun(tasks, resumed_from=without(paused, "one"))

    resumed.reply("b", '{"verdict": "fail", "reason": "bad"}')

    assert resumed.recorded.ends == {"b": "failed/expects"}


def at_a_gate(**decided: Any) -> tuple[dict[str, Any], RecordedRun]:
    """Return a run that paused at the gate of `b` and was decided."""
    tasks = {"a": RUN, "b": {**NEEDS_A, "gate": {"question": "Go?"}}}
    manual = ManualRun(tasks)
    manual.reply("a", "one")
    opened = manual.machine.state.units["b"].gate
    assert opened is not None
    bodies = {name: Body(text.encode(), TEXT) for name, text in decided.pop("bodies", {}).items()}
    data = {"task": "b", "by": "person", "authenticated": False, "displayed": opened.displayed, **decided}
    recorded = manual.recorded
    recorded.entries.append(Entry(0, "gate.decided", data, {}, [opened.seq], "person:ann"))
    recorded.stored.append(bodies)
    return tasks, recorded


@pytest.mark.requirement("RUN-RESUME-002")
@pytest.mark.parametrize(("decision", "end"), [("approved", "failed/expects"), ("rejected", "refused/rejected")])
def test_an_approved_task_needs_its_data_and_a_rejected_task_does_not(decision: str, end: str) -> None:
    tasks, paused = at_a_gate(decision=decision)

    resumed = ManualRun(tasks, resumed_from=without(paused, "one"))

    assert resumed.recorded.ends == {"b": end}
    assert len(resumed.recorded.of_kind("task.started")) == 0


@pytest.mark.requirement("RUN-RESUME-002")
def test_a_redacted_edited_instruction_fails_the_task() -> None:
    tasks, paused = at_a_gate(decision="approved", bodies={"edited": "Write well."})

    resumed = ManualRun(tasks, resumed_from=without(paused, "Write well."))

    assert message_of(resumed.recorded.only("task.ended")) == unavailable("the edited instruction", "Write well.")


@pytest.mark.requirement("RUN-REUSE-001")
@pytest.mark.parametrize("selected", [{}, {"outputs": {"o": {"task": "a", "select": "/0"}}}])
def test_a_result_that_is_redacted_during_the_lookup_is_not_reused(selected: dict[str, Any]) -> None:
    found = Reusable("cache", "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f", 7, redacted("[1]", "application/json"))

    recorded = run({"a": TYPED}, outputs(a=[1]), reusable={"a": found}, **selected)

    assert recorded.starts == [(0, "a")]
    assert recorded.ends == {"a": "passed"}
