"""The history of a run, built entry by entry."""

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
def test_totals_and_states_match_the_seal(name: str) -> None:
    example = EXAMPLES[name]()

    history = history_of(example.entries)

    assert history.seal is not None
    assert asdict(history.usage) == history.seal.data["totals"]
    assert history.states == history.end_states == +Counter(history.seal.data["counts"])
    assert history.status == history.seal.data["status"]
    assert history.open_tasks == {}
    assert history.reserved == UsageTotals()
    assert history.is_sealed


def test_a_task_has_its_attempts_verdicts_and_escalations() -> None:
    draft = history_of(EXAMPLES["escalated"]().entries).tasks["draft"]

    assert (draft.state, draft.attempts, draft.agent, draft.tier) == ("passed", 5, "writer", "frontier")
    assert draft.verdicts == {"pass": 5, "none": 1, "fail": 2}
    assert draft.escalations == (("cheap", "capable"), ("capable", "frontier"))


def test_gates_record_who_decided_and_why() -> None:
    refused = history_of(EXAMPLES["gate_refused"]().entries).tasks
    approved = history_of(EXAMPLES["gate_approved"]().entries).tasks

    not_yet, good = Body(b"not yet").reference, Body(b"good").reference
    gates = [task.gate for task in (refused["publish"], refused["announce"], approved["publish"])]
    assert [gate and gate.decision for gate in gates] == [
        RecordedDecision("rejected", "person", "person:ada", is_authenticated=True, reason=not_yet),
        RecordedDecision("rejected", "deadline", "runner"),
        RecordedDecision("approved", "person", "person:ada", is_authenticated=True, is_edited=True, reason=good),
    ]


def test_a_reused_task_names_the_run_it_came_from() -> None:
    history = history_of(EXAMPLES["reused_and_skipped"]().entries)

    assert history.tasks["log"].reused_from == "01936b2e-4d10-7a3c-9f00-000000000001"
    assert history.tasks["warn"].state == "skipped"


def test_redactions_budget_entries_and_outputs_are_kept() -> None:
    redacted = history_of(EXAMPLES["redacted"]().entries)
    stopped = history_of(EXAMPLES["budget_stop"]().entries)

    assert [entry.data["body"] for entry in redacted.redactions] == ["output", "prompt"]
    assert list(redacted.outputs) == ["asked", "told", "used"]
    assert [entry.kind for entry in stopped.budget] == ["budget.exceeded", "budget.stopped", "budget.stopped"]


def test_a_run_ends_with_its_first_seal_even_if_entries_follow() -> None:
    example = EXAMPLES["redacted"]()
    example.add("x-note")

    history = history_of(example.entries)

    assert history.end is not None
    assert history.seal is not None
    seals = [entry.seq for entry in (history.end, history.seal)]
    assert seals[0] < history.redactions[0].seq < seals[1]


def test_repairs_and_redactions_of_an_unsealed_run_do_not_extend_it() -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.pass_task("draft", "a draft")
    last = example.add("x-note")
    example.repair(ledger=b"torn")
    example.redact_body(0, "wave_plan", "private")

    end = history_of(example.entries).end

    assert (end and end.seq) == last


def test_a_paused_run_is_paused_until_it_is_resumed() -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.pass_task("draft", "a draft")
    example.deliver("publish")
    example.gate("publish")
    assert history_of(example.entries).tasks["publish"].state == "waiting"

    example.pause()
    example.add("x-note")
    example.decide("publish", "approved")
    assert history_of(example.entries).pause_reason == "gate"

    example.resume()
    assert history_of(example.entries).pause_reason is None
    example.start("publish")
    history = history_of(example.entries)
    assert history.tasks["publish"].state == "running"
    assert not history.is_sealed


def test_the_first_unreadable_line_is_remembered() -> None:
    history = RunHistory()
    history.skip_line(4)
    history.skip_line(7)

    assert (history.unreadable, history.first_unreadable) == (2, 4)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_reservation_is_the_sum_over_open_calls(name: str) -> None:
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
def test_totals_equal_the_sums_over_tasks_after_every_entry(name: str) -> None:
    history = RunHistory()

    for entry in entries_of(EXAMPLES[name]().entries):
        history.apply(entry)

        tasks = history.tasks.values()
        for amount, total in asdict(history.usage).items():
            assert total == sum(getattr(task.usage, amount) for task in tasks)
        assert history.states == Counter(task.state for task in tasks if not task.is_instance)
        assert history.attempts == sum(task.attempts for task in tasks)
        assert history.open_tasks == {task.id: task for task in tasks if task.end_state is None}


def test_an_agent_check_counts_as_a_call_and_a_command_check_does_not() -> None:
    example = ExampleRun(plan_of("escalated"))
    example.wave()
    example.start("draft")
    example.finish("draft", {"title": "one"})
    example.check("draft")
    example.ask("draft")
    assert history_of(example.entries).usage.calls == 1

    example.judge("draft")
    example.ask("draft")
    assert history_of(example.entries).usage.calls == 2


def test_a_task_is_retried_after_a_failure_until_an_attempt_succeeds() -> None:
    example = ExampleRun(plan_of("escalated"))
    example.wave()
    states = []

    def record_state() -> None:
        task = history_of(example.entries).tasks["draft"]
        states.append((task.is_retried, task.is_working))

    example.start("draft")
    record_state()
    example.fail("draft", "rate_limited")
    record_state()
    example.start("draft")
    record_state()
    example.finish("draft", {"title": "one"})
    record_state()

    assert states == [(False, True), (True, False), (True, True), (False, False)]


def test_instances_are_counted_separately_from_plan_tasks() -> None:
    history = history_of(EXAMPLES["eager_foreach"]().entries)

    assert history.end_states == {"passed": 4}
    assert (history.instances, history.instance_end_states) == (3, {"passed": 2, "tolerated": 1})


def test_time_counts_only_while_a_process_executes_the_run() -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    example.pause()
    example.wait(3_600_000)
    example.resume()
    example.gate("publish")
    example.resume()

    # The fake clock advances 1.25 seconds per entry: two entries before the pause and one after resuming.
    assert history_of(example.entries).active_us == 3_750_000


def test_time_between_a_kill_and_a_redaction_does_not_count() -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.wait(3_600_000)
    example.redact_body(0, "wave_plan", "private")
    example.resume()
    example.gate("archive")

    assert history_of(example.entries).active_us == 1_250_000


def test_a_ledger_without_a_plan_has_a_history() -> None:
    history = history_of(EXAMPLES["user_kinds"]().entries)

    assert (history.wave, history.tasks, history.status) == (None, {}, "passed")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FACTS), inner, max_size=3),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(st.sampled_from(FACTS), JSON, max_size=6)


@given(st.lists(st.tuples(st.sampled_from(KINDS), MAPPINGS, MAPPINGS), max_size=6))
def test_entries_with_data_of_any_type_are_accepted(
    entries: list[tuple[str, dict[str, object], dict[str, object]]],
) -> None:
    history = RunHistory()

    for seq, (kind, data, bodies) in enumerate(entries):
        history.apply(ReadEntry("r", seq, "", "runner", kind, [], data, bodies))

    assert history.entries == len(entries)
    assert json.dumps(asdict(history.usage))
