"""What a run does without the bodies that were redacted while it stood still."""

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
from forum_runner.ledger.recorded_body import RecordedBody, StoredBytes
from unit.runner.execute.small_runs import RUN, WORK, ByHand, Entry, Story, outputs, run

CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
NEEDS_A = {**WORK, "needs": ["a"]}
TYPED = {**RUN, "output": {"type": "array"}}


def digest_of(content: str) -> str:
    return sha256(content.encode()).hexdigest()


def gone(content: str, type_: str = TEXT) -> RecordedBody:
    """A body as a process finds it that reads the ledger after the redaction."""
    reference = BodyReference(bytes=len(content), digest=digest_of(content), type=type_)
    return RecordedBody(reference, BodyReader(BytesIO()))


def without(story: Story, *contents: str) -> Story:
    """The same story, with these bodies redacted."""
    lost = {content.encode(): content for content in contents}
    return replace(story, stored=[{name: _kept(body, lost) for name, body in found.items()} for found in story.stored])


def _kept(body: StoredBytes, lost: Mapping[bytes, str]) -> StoredBytes:
    return gone(lost[body.data], body.type) if body.data in lost else body


def cut_before(story: Story, kind: str, task: str) -> Story:
    """What a process has told that was killed before this entry."""
    place = story.brief.index(f"{kind} {task}")
    return replace(story, entries=story.entries[:place], stored=story.stored[:place])


def interrupted(tasks: dict[str, Any], *replies: tuple[str, str], **parts: Any) -> Story:
    """A run that was interrupted after these replies."""
    hand = ByHand(tasks, **parts)
    for task, content in replies:
        hand.reply(task, content)
    hand.interrupt()
    for task in list(hand.open):
        hand.reply(task, "", failure=CANCELLED)
    return hand.story


def why(entry: Entry) -> str:
    return entry.bodies["detail"].decode().removeprefix('{"message":"').removesuffix('"}')


def cannot(what: str, content: str, verb: str = "is") -> str:
    return f"{what} {verb} unavailable: body {digest_of(content)} was redacted"


@pytest.mark.requirement("RUN-HAND-001")
def test_a_task_whose_data_cannot_be_made_fails_and_the_others_go_on() -> None:
    tasks = {"a": WORK, "b": {**WORK, "needs": ["a", {"task": "c", "edge": "order"}]}, "c": WORK}
    parts = {"policy": {"on_failure": "continue"}}
    told = interrupted(tasks, ("a", "one"), **parts)

    again = ByHand(tasks, told=without(told, "one"), **parts)
    again.reply("c", "three")

    assert again.story.ends == {"c": "passed", "b": "failed/expects"}
    assert why(again.story.one("task.ended", "b")) == cannot("the value for 'a'", "one")
    assert again.story.status == "failed"


@pytest.mark.requirement("RUN-HAND-001")
@pytest.mark.parametrize(
    ("needs", "end"),
    [
        ({"allow_failure": True}, "tolerated/expects"),
        ({"needs": [{"task": "a", "select": "/0"}]}, "failed/expects"),
    ],
)
def test_it_fails_as_with_any_value_that_cannot_be_made(needs: dict[str, Any], end: str) -> None:
    tasks = {"a": TYPED, "b": {**NEEDS_A, **needs}}
    told = cut_before(run(tasks, outputs(a=["one"], b="two")), "edge.delivered", "b")

    again = ByHand(tasks, told=without(told, '["one"]'))

    assert again.story.ends == {"b": end}


@pytest.mark.requirement("RUN-WHEN-001")
def test_a_condition_on_what_was_redacted_does_not_hold() -> None:
    order = {"task": "a", "edge": "order"}
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": [order, "b"], "when": {"task": "a", "output": True}}}
    told = interrupted(tasks, ("a", "one"))

    again = ByHand(tasks, told=without(told, "one"))
    again.reply("b", "two")

    assert again.story.ends == {"b": "passed", "c": "skipped/condition"}
    assert again.story.status == "passed"


@pytest.mark.requirement("RUN-EXPAND-001", "RUN-HAND-001")
def test_items_and_lists_of_what_was_redacted_cannot_be_made() -> None:
    each = {**WORK, "foreach": {"task": "a", "as": "item", "max": 3}}
    tasks = {"a": TYPED, "b": each, "c": {**WORK, "needs": ["b"]}}
    whole = run(tasks, [*outputs(a=["x"], c="three"), {"output": "two"}])

    unmade = ByHand(tasks, told=without(cut_before(whole, "task.expanded", "b"), '["x"]'))
    expanded = ByHand(tasks, told=without(cut_before(whole, "edge.delivered", "b[0]"), '["x"]'))
    listed = ByHand(tasks, told=without(cut_before(whole, "edge.delivered", "c"), "two"))

    assert why(unmade.story.one("task.ended", "b")) == cannot("the items", '["x"]', "are")
    assert why(expanded.story.one("task.ended", "b[0]")) == cannot("the value for 'item'", '["x"]')
    assert why(listed.story.one("task.ended", "c")) == cannot("the value for 'b'", "two")


@pytest.mark.requirement("RUN-SEAL-001")
def test_an_output_of_the_plan_that_was_redacted_is_not_given() -> None:
    tasks = {"a": WORK, "b": WORK}
    told = interrupted(tasks, ("a", "one"), outputs={"x": "a", "y": "b"})

    again = ByHand(tasks, told=without(told, "one"), outputs={"x": "a", "y": "b"})
    again.reply("b", "two")

    assert [entry.data["output"] for entry in again.story.of("answer.given")] == ["y"]
    assert again.story.status == "passed"


@pytest.mark.requirement("RUN-RESUME-002")
def test_an_attempt_is_not_made_again_without_what_it_was_handed() -> None:
    tasks = {"a": RUN, "b": {**NEEDS_A, "idempotent": True}}
    first = ByHand(tasks)
    first.reply("a", "one")

    again = ByHand(tasks, told=without(first.story, "one"))

    assert again.story.brief == ["run.resumed", "task.lost b", "task.ended b", "run.sealed"]
    assert again.story.ends == {"b": "failed/expects"}
    assert why(again.story.one("task.ended")) == cannot("the value for 'a'", "one")


@pytest.mark.requirement("RUN-RESUME-002")
def test_nobody_waits_for_an_attempt_that_cannot_be_made() -> None:
    tasks = {"a": RUN, "b": {**NEEDS_A, "retry": {"attempts": 2, "backoff": "1h"}}}
    first = ByHand(tasks)
    first.reply("a", "one")
    first.reply("b", "", failure=Failure(ErrorKind.NETWORK))

    again = ByHand(tasks, told=without(first.story, "one"))

    assert again.story.ends == {"b": "failed/expects"}


@pytest.mark.requirement("RUN-RESUME-002")
def test_a_result_that_holds_needs_nothing_that_it_was_made_of() -> None:
    tasks = {"a": RUN, "b": NEEDS_A}
    told = cut_before(run(tasks, outputs(a="one", b="two")), "task.ended", "b")

    again = ByHand(tasks, told=without(told, "one", "two"))

    assert again.story.ends == {"b": "passed"}


CHECKS: dict[str, dict[str, Any]] = {
    "agent": {"agent": "critic"},
    "command": {"command": ["grep", "${{ needs.a }}"]},
    "schema": {"schema": {"type": "string"}},
}


def at_a_check(by: str) -> tuple[dict[str, Any], Story]:
    """A run that was killed when the output of `b` was there, and not checked."""
    tasks = {"a": RUN, "b": {**NEEDS_A, "accept": [CHECKS[by]], "retry": {"attempts": 2}}}
    first = ByHand(tasks)
    first.reply("a", "one")
    first.reply("b", "two")
    kind = "verdict.given" if by == "schema" else "verdict.asked"
    return tasks, cut_before(first.story, kind, "b")


@pytest.mark.requirement("RUN-RESUME-002")
@pytest.mark.parametrize("by", CHECKS)
def test_what_is_to_be_checked_must_be_there(by: str) -> None:
    tasks, told = at_a_check(by)

    again = ByHand(tasks, told=without(told, "two"))

    assert again.story.ends == {"b": "failed/expects"}
    assert why(again.story.one("task.ended")) == cannot("the output to check", "two")


@pytest.mark.requirement("RUN-RESUME-002")
def test_a_check_needs_only_what_its_command_refers_to() -> None:
    tasks, told = at_a_check("command")
    judged, asked = at_a_check("agent")

    by_command = ByHand(tasks, told=without(told, "one"))
    by_agent = ByHand(judged, told=without(asked, "one"))

    assert why(by_command.story.one("task.ended")) == cannot("the value for 'a'", "one")
    assert by_agent.story.brief == ["run.resumed", "verdict.asked b"]


@pytest.mark.requirement("RUN-RESUME-002")
def test_an_attempt_after_a_check_needs_all_that_the_first_was_handed() -> None:
    tasks, told = at_a_check("agent")
    again = ByHand(tasks, told=without(told, "one"))

    again.reply("b", '{"verdict": "fail", "reason": "bad"}')

    assert again.story.ends == {"b": "failed/expects"}


def at_a_gate(**decided: Any) -> tuple[dict[str, Any], Story]:
    """A run that is paused at the gate of `b`, and decided."""
    tasks = {"a": RUN, "b": {**NEEDS_A, "gate": {"question": "Go?"}}}
    hand = ByHand(tasks)
    hand.reply("a", "one")
    opened = hand.machine.state.units["b"].gate
    assert opened is not None
    bodies = {name: Body(text.encode(), TEXT) for name, text in decided.pop("bodies", {}).items()}
    data = {"task": "b", "by": "person", "authenticated": False, "displayed": opened.displayed, **decided}
    story = hand.story
    story.entries.append(Entry(0, "gate.decided", data, {}, [opened.seq], "person:ann"))
    story.stored.append(bodies)
    return tasks, story


@pytest.mark.requirement("RUN-RESUME-002")
@pytest.mark.parametrize(("decision", "end"), [("approved", "failed/expects"), ("rejected", "refused/rejected")])
def test_what_was_approved_needs_what_it_was_handed_and_what_was_rejected_does_not(decision: str, end: str) -> None:
    tasks, told = at_a_gate(decision=decision)

    again = ByHand(tasks, told=without(told, "one"))

    assert again.story.ends == {"b": end}
    assert len(again.story.of("task.started")) == 0


@pytest.mark.requirement("RUN-RESUME-002")
def test_an_instruction_that_a_person_gave_must_be_there() -> None:
    tasks, told = at_a_gate(decision="approved", bodies={"edited": "Write well."})

    again = ByHand(tasks, told=without(told, "Write well."))

    assert why(again.story.one("task.ended")) == cannot("the edited instruction", "Write well.")


@pytest.mark.requirement("RUN-REUSE-001")
@pytest.mark.parametrize("selected", [{}, {"outputs": {"o": {"task": "a", "select": "/0"}}}])
def test_a_result_that_is_redacted_while_it_is_looked_for_is_none(selected: dict[str, Any]) -> None:
    found = Reusable("cache", "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f", 7, gone("[1]", "application/json"))

    story = run({"a": TYPED}, outputs(a=[1]), reusable={"a": found}, **selected)

    assert story.starts == [(0, "a")]
    assert story.ends == {"a": "passed"}
