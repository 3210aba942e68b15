"""The fold over the entries of a run."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import Body, Entry, lines_of
from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import RecordedDecision
from forum_runner.history.usage import UsageTotals
from forum_runner.ledger.read_entry import ReadEntry, read_entry
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

KINDS = ["run.opened", "run.paused", "run.sealed", "answer.given", "body.redacted", "budget.stopped", "task.expanded"]
KINDS += ["task.started", "task.finished", "task.lost", "task.reused", "task.ended", "gate.decided", "verdict.given"]
FACTS = ["task", "usage", "reserved", "state", "status", "instances", "verdict", "from", "to", "attempt", "by", "torn"]


def entries_of(entries: Iterable[Entry]) -> Iterator[ReadEntry]:
    for line in lines_of(list(entries)):
        entry = read_entry(line)
        assert entry is not None
        yield entry


def history_of(entries: Iterable[Entry]) -> RunHistory:
    history = RunHistory()
    for entry in entries_of(entries):
        history.apply(entry)
    return history


@pytest.mark.parametrize("name", EXAMPLES)
def test_sums_and_states_are_those_that_the_seal_gives(name: str) -> None:
    story = EXAMPLES[name]()

    history = history_of(story.entries)

    assert history.seal is not None
    assert asdict(history.usage) == history.seal.data["totals"]
    assert history.states == history.ended == +Counter(history.seal.data["counts"])
    assert history.status == history.seal.data["status"]
    assert history.open_tasks == {}
    assert history.reserved == UsageTotals()
    assert history.is_sealed


def test_a_task_has_its_attempts_verdicts_and_escalations() -> None:
    draft = history_of(EXAMPLES["climbing"]().entries).tasks["draft"]

    assert (draft.state, draft.attempts, draft.agent, draft.tier) == ("passed", 5, "writer", "frontier")
    assert draft.verdicts == {"pass": 5, "none": 1, "fail": 2}
    assert draft.escalations == (("cheap", "capable"), ("capable", "frontier"))


def test_gates_are_told_with_who_decided_and_why() -> None:
    refused = history_of(EXAMPLES["gate_refused"]().entries).tasks
    approved = history_of(EXAMPLES["gate_approved"]().entries).tasks

    not_yet, good = Body(b"not yet").reference, Body(b"good").reference
    gates = [task.gate for task in (refused["publish"], refused["announce"], approved["publish"])]
    assert [gate and gate.decision for gate in gates] == [
        RecordedDecision("rejected", "person", "person:ada", authenticated=True, reason=not_yet),
        RecordedDecision("rejected", "deadline", "runner"),
        RecordedDecision("approved", "person", "person:ada", authenticated=True, is_edited=True, reason=good),
    ]


def test_what_was_reused_comes_from_another_run() -> None:
    story = history_of(EXAMPLES["reused_and_skipped"]().entries)

    assert story.tasks["log"].reused_from == "01936b2e-4d10-7a3c-9f00-000000000001"
    assert story.tasks["warn"].state == "skipped"


def test_redactions_budget_and_answers_are_kept() -> None:
    redacted = history_of(EXAMPLES["redacted"]().entries)
    stopped = history_of(EXAMPLES["budget_stop"]().entries)

    assert [entry.data["body"] for entry in redacted.redactions] == ["output", "prompt"]
    assert list(redacted.outputs) == ["asked", "told", "used"]
    assert [entry.kind for entry in stopped.budget] == ["budget.exceeded", "budget.stopped", "budget.stopped"]


def test_a_run_has_ended_with_its_first_seal_whatever_follows() -> None:
    story = EXAMPLES["redacted"]()
    story.add("x-note")

    history = history_of(story.entries)

    assert history.end is not None
    assert history.seal is not None
    seals = [entry.seq for entry in (history.end, history.seal)]
    assert seals[0] < history.redactions[0].seq < seals[1]


def test_what_is_done_to_the_record_of_a_run_without_a_seal_is_no_part_of_the_run() -> None:
    story = ExampleRun(plan_of("gate_approved"))
    story.do("draft", "a draft")
    last = story.add("x-note")
    story.repair(ledger=b"torn")
    story.redact_body(0, "wave_plan", "private")

    end = history_of(story.entries).end

    assert (end and end.seq) == last


def test_a_run_that_is_paused_says_so_until_it_goes_on() -> None:
    story = ExampleRun(plan_of("gate_approved"))
    story.do("draft", "a draft")
    story.deliver("publish")
    story.gate("publish")
    assert history_of(story.entries).tasks["publish"].state == "waiting"

    story.pause()
    story.add("x-note")
    story.decide("publish", "approved")
    assert history_of(story.entries).paused == "gate"

    story.resume()
    assert history_of(story.entries).paused is None
    story.start("publish")
    history = history_of(story.entries)
    assert history.tasks["publish"].state == "running"
    assert not history.is_sealed


def test_the_first_line_that_is_no_entry_is_remembered() -> None:
    history = RunHistory()
    history.skip_line(4)
    history.skip_line(7)

    assert (history.unreadable, history.first_unreadable) == (2, 4)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_reserved_is_what_open_calls_reserved(name: str) -> None:
    open_calls: dict[str, int] = {}
    history = RunHistory()

    for entry in entries_of(EXAMPLES[name]().entries):
        task = entry.data.get("task", "")
        if entry.kind in ("task.started", "verdict.asked"):
            open_calls[task] = entry.data["reserved"]["output_tokens"]
        elif entry.kind in ("task.finished", "task.lost", "verdict.given", "verdict.lost"):
            open_calls.pop(task, None)
        history.apply(entry)

        assert history.reserved.output_tokens == sum(open_calls.values())


@pytest.mark.parametrize("name", EXAMPLES)
def test_totals_are_the_sums_of_the_tasks_at_every_entry(name: str) -> None:
    history = RunHistory()

    for entry in entries_of(EXAMPLES[name]().entries):
        history.apply(entry)

        tasks = history.tasks.values()
        for amount, total in asdict(history.usage).items():
            assert total == sum(getattr(task.usage, amount) for task in tasks)
        assert history.states == Counter(task.state for task in tasks if not task.is_instance)
        assert history.attempts == sum(task.attempts for task in tasks)
        assert history.open_tasks == {task.id: task for task in tasks if task.end_state is None}


def test_a_command_that_checks_is_no_call_and_an_agent_is_one() -> None:
    story = ExampleRun(plan_of("climbing"))
    story.wave()
    story.start("draft")
    story.finish("draft", {"title": "one"})
    story.check("draft")
    story.ask("draft")
    assert history_of(story.entries).usage.calls == 1

    story.judge("draft")
    story.ask("draft")
    assert history_of(story.entries).usage.calls == 2


def test_a_task_is_retried_after_a_failure_until_an_attempt_succeeds() -> None:
    story = ExampleRun(plan_of("climbing"))
    story.wave()
    states = []

    def note() -> None:
        task = history_of(story.entries).tasks["draft"]
        states.append((task.is_retried, task.is_working))

    story.start("draft")
    note()
    story.fail("draft", "rate_limited")
    note()
    story.start("draft")
    note()
    story.finish("draft", {"title": "one"})
    note()

    assert states == [(False, True), (True, False), (True, True), (False, False)]


def test_instances_are_counted_apart_from_the_tasks_of_the_plan() -> None:
    history = history_of(EXAMPLES["eager_foreach"]().entries)

    assert history.ended == {"passed": 4}
    assert (history.instances, history.instances_ended) == (3, {"passed": 2, "tolerated": 1})


def test_time_passes_only_while_a_process_works_on_the_run() -> None:
    story = ExampleRun(plan_of("gate_approved"))
    story.gate("archive")
    story.pause()
    story.wait(3_600_000)
    story.resume()
    story.gate("publish")
    story.resume()

    # The clock of a story takes 1.25 seconds a step: two before the pause, and one after it was resumed.
    assert history_of(story.entries).active_us == 3_750_000


def test_time_until_the_record_of_a_killed_process_was_redacted_does_not_pass() -> None:
    story = ExampleRun(plan_of("gate_approved"))
    story.wait(3_600_000)
    story.redact_body(0, "wave_plan", "private")
    story.resume()
    story.gate("archive")

    assert history_of(story.entries).active_us == 1_250_000


def test_a_ledger_without_a_plan_has_a_history_too() -> None:
    history = history_of(EXAMPLES["own_entries"]().entries)

    assert (history.wave, history.tasks, history.status) == (None, {}, "passed")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FACTS), inner, max_size=3),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(st.sampled_from(FACTS), JSON, max_size=6)


@given(st.lists(st.tuples(st.sampled_from(KINDS), MAPPINGS, MAPPINGS), max_size=6))
def test_facts_of_any_type_are_folded(told: list[tuple[str, dict[str, object], dict[str, object]]]) -> None:
    history = RunHistory()

    for seq, (kind, data, bodies) in enumerate(told):
        history.apply(ReadEntry("r", seq, "", "runner", kind, [], data, bodies))

    assert history.entries == len(told)
    assert json.dumps(asdict(history.usage))
