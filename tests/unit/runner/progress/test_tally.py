"""A run, folded from its entries while it goes on."""

from collections import Counter
from dataclasses import asdict

import pytest

from forum_runner.ledger.clock import read_time
from forum_runner.ledger.usage import Usage
from forum_runner.progress.tally import Tally
from ledgers import STORIES
from ledgers.plans import plan_of
from ledgers.story import Story


def tally_of(story: Story, until: int | None = None) -> Tally:
    tally = Tally(story.plan)
    for entry in story.entries[:until]:
        tally.fold(read_time(entry.at), entry.kind, entry.data)
    return tally


@pytest.mark.parametrize("name", STORIES)
def test_at_the_end_it_is_what_the_seal_says_and_nothing_is_under_way(name: str) -> None:
    story = STORIES[name]()
    seal = [entry for entry in story.entries if entry.kind == "run.sealed"][-1]

    tally = tally_of(story)

    assert tally.ended == +Counter(seal.data["counts"])
    assert asdict(tally.used) == seal.data["totals"]
    assert tally.status == seal.data["status"]
    assert tally.units == {}
    assert tally.reserved == Usage()


@pytest.mark.parametrize("name", STORIES)
def test_what_is_reserved_is_what_open_calls_reserved(name: str) -> None:
    story = STORIES[name]()
    open_calls: dict[str, int] = {}
    tally = Tally(story.plan)

    for entry in story.entries:
        task = entry.data.get("task", "")
        if entry.kind in ("task.started", "verdict.asked"):
            open_calls[task] = entry.data["reserved"]["output_tokens"]
        elif entry.kind in ("task.finished", "task.lost", "verdict.given", "verdict.lost"):
            open_calls.pop(task, None)
        tally.fold(read_time(entry.at), entry.kind, entry.data)

        assert tally.reserved.output_tokens == sum(open_calls.values())


def test_a_command_that_checks_is_no_call_and_an_agent_is_one() -> None:
    story = Story(plan_of("climbing"))
    story.wave()
    story.start("draft")
    story.finish("draft", {"title": "one"})
    story.check("draft")
    story.ask("draft")
    assert tally_of(story).used.calls == 1

    story.judge("draft")
    story.ask("draft")
    assert tally_of(story).used.calls == 2


def test_what_a_unit_does_is_told_in_words() -> None:
    story = Story(plan_of("climbing"))
    story.wave()
    doing = []

    def note() -> None:
        unit = tally_of(story).units["draft"]
        doing.append((unit.doing, unit.is_at_work))

    story.start("draft")
    note()
    story.fail("draft", "rate_limited")
    note()
    story.start("draft")
    story.finish("draft", {"title": "one"})
    note()
    story.check("draft")
    story.ask("draft")
    note()
    story.judge("draft")
    story.ask("draft")
    note()
    story.judge("draft", "fail")
    note()
    story.escalate("draft")
    note()

    assert doing == [
        ("is working", True),
        ("waits after rate_limited", False),
        ("is done", False),
        ("check 2 of 3 by a command", True),
        ("check 3 of 3 by critic", True),
        ("check 3 of 3: fail", False),
        ("climbs to capable", False),
    ]


def test_waves_count_what_has_ended_in_them() -> None:
    story = STORIES["two_waves"]()
    first_end = next(seq for seq, entry in enumerate(story.entries) if entry.kind == "task.ended")

    tally = tally_of(story, first_end + 1)

    assert (tally.wave, tally.wave_ended, len(tally.waves[0])) == (1, 1, 2)
    assert tally_of(story).wave == 3


def test_instances_are_counted_apart_from_the_tasks_of_the_plan() -> None:
    tally = tally_of(STORIES["eager_foreach"]())

    assert tally.ended == {"passed": 4}
    assert (tally.instances, tally.instances_ended) == (3, {"passed": 2, "tolerated": 1})


def test_time_passes_only_while_a_process_is_at_it() -> None:
    story = Story(plan_of("gate_approved"))
    story.gate("archive")
    story.pause()
    story.wait(3_600_000)
    story.resume()
    story.gate("publish")
    story.resume()

    # The clock of a story takes 1.25 seconds a step: two before the pause, and one after it was resumed.
    assert tally_of(story).active_us == 3_750_000


def test_time_until_the_record_of_a_killed_process_was_redacted_does_not_pass() -> None:
    story = Story(plan_of("gate_approved"))
    story.wait(3_600_000)
    story.redact(0, "wave_plan", "private")
    story.resume()
    story.gate("archive")

    assert tally_of(story).active_us == 1_250_000


def test_a_ledger_of_no_plan_is_counted_too() -> None:
    tally = tally_of(STORIES["own_entries"]())

    assert (tally.name, tally.tasks, tally.status) == ("", {}, "passed")
