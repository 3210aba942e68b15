"""What a ledger tells of a run, folded."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.read_entry import ReadEntry, read_entry
from forum_runner.ledger.summary import Gate, Summary
from ledgers import STORIES
from ledgers.plans import plan_of
from ledgers.raw import Body, Entry, lines_of
from ledgers.story import Story

KINDS = ["run.opened", "run.paused", "run.sealed", "answer.given", "body.redacted", "budget.stopped", "task.expanded"]
KINDS += ["task.started", "task.finished", "task.lost", "task.reused", "task.ended", "gate.decided", "verdict.given"]
FACTS = ["task", "usage", "reserved", "state", "status", "instances", "verdict", "from", "to", "attempt", "by", "torn"]


def summary_of(entries: Iterable[Entry]) -> Summary:
    summary = Summary()
    for line in lines_of(list(entries)):
        entry = read_entry(line)
        assert entry is not None
        summary.add(entry)
    return summary


@pytest.mark.parametrize("name", STORIES)
def test_sums_and_states_are_those_that_the_seal_gives(name: str) -> None:
    story = STORIES[name]()

    summary = summary_of(story.entries)

    assert summary.seal is not None
    assert asdict(summary.totals) == summary.seal.data["totals"]
    planned = [story for story in summary.tasks.values() if story.id in STORIES[name]().plan["tasks"]]
    assert Counter(task.state for task in planned) == +Counter(summary.seal.data["counts"])
    assert summary.is_sealed


def test_a_task_has_its_attempts_verdicts_and_escalations() -> None:
    draft = summary_of(STORIES["climbing"]().entries).tasks["draft"]

    assert (draft.state, draft.attempts, draft.agent, draft.tier) == ("passed", 5, "writer", "frontier")
    assert draft.verdicts == {"pass": 5, "none": 1, "fail": 2}
    assert draft.escalations == [("cheap", "capable"), ("capable", "frontier")]


def test_gates_are_told_with_who_decided_and_why() -> None:
    refused = summary_of(STORIES["gate_refused"]().entries).tasks
    approved = summary_of(STORIES["gate_approved"]().entries).tasks

    not_yet, good = Body(b"not yet").reference, Body(b"good").reference
    assert refused["publish"].gate == Gate("rejected", "person", "person:ada", authenticated=True, reason=not_yet)
    assert refused["announce"].gate == Gate("rejected", "deadline", "runner")
    assert approved["publish"].gate == Gate(
        "approved", "person", "person:ada", authenticated=True, is_edited=True, reason=good
    )


def test_what_was_reused_comes_from_another_run() -> None:
    story = summary_of(STORIES["reused_and_skipped"]().entries)

    assert story.tasks["log"].reused_from == "01936b2e-4d10-7a3c-9f00-000000000001"
    assert story.tasks["warn"].state == "skipped"


def test_redactions_budget_and_answers_are_kept() -> None:
    redacted = summary_of(STORIES["redacted"]().entries)
    stopped = summary_of(STORIES["budget_stop"]().entries)

    assert [entry.data["body"] for entry in redacted.redactions] == ["output", "prompt"]
    assert list(redacted.answers) == ["asked", "told", "used"]
    assert [entry.kind for entry in stopped.budget] == ["budget.exceeded", "budget.stopped", "budget.stopped"]


def test_a_run_has_ended_with_its_first_seal_whatever_follows() -> None:
    story = STORIES["redacted"]()
    story.tell("x-note")

    summary = summary_of(story.entries)

    assert summary.ended is not None
    assert summary.seal is not None
    seals = [entry.seq for entry in (summary.ended, summary.seal)]
    assert seals[0] < summary.redactions[0].seq < seals[1]


def test_what_is_done_to_the_record_of_a_run_without_a_seal_is_no_part_of_the_run() -> None:
    story = Story(plan_of("gate_approved"))
    story.do("draft", "a draft")
    last = story.tell("x-note")
    story.repair(ledger=b"torn")
    story.redact(0, "wave_plan", "private")

    ended = summary_of(story.entries).ended

    assert (ended and ended.seq) == last


def test_a_run_that_is_paused_says_so_until_it_goes_on() -> None:
    story = Story(plan_of("gate_approved"))
    story.do("draft", "a draft")
    story.deliver("publish")
    story.gate("publish")
    assert summary_of(story.entries).tasks["publish"].state == "waiting"

    story.pause()
    story.tell("x-note")
    story.decide("publish", "approved")
    assert summary_of(story.entries).paused == "gate"

    story.resume()
    assert summary_of(story.entries).paused is None
    story.start("publish")
    summary = summary_of(story.entries)
    assert summary.tasks["publish"].state == "running"
    assert not summary.is_sealed


def test_the_first_line_that_is_no_entry_is_remembered() -> None:
    summary = Summary()
    summary.add_unreadable(4)
    summary.add_unreadable(7)

    assert (summary.unreadable, summary.first_unreadable) == (2, 4)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FACTS), inner, max_size=3),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(st.sampled_from(FACTS), JSON, max_size=6)


@given(st.lists(st.tuples(st.sampled_from(KINDS), MAPPINGS, MAPPINGS), max_size=6))
def test_facts_of_any_type_are_folded(told: list[tuple[str, dict[str, object], dict[str, object]]]) -> None:
    summary = Summary()

    for seq, (kind, data, bodies) in enumerate(told):
        summary.add(ReadEntry("r", seq, "", "runner", kind, [], data, bodies))

    assert summary.entries == len(told)
    assert json.dumps(asdict(summary.totals))
