"""How often what passed, over several runs."""

import json

from forum_runner.ledger.read_entry import read_entry
from forum_runner.ledger.summary import Summary
from forum_runner.report.pass_rates import render_pass_rates, render_pass_rates_json
from ledgers import STORIES
from ledgers.raw import RUN, lines_of
from ledgers.story import Story


def summary_of(story: Story, until: int | None = None) -> Summary:
    summary = Summary()
    for line in lines_of(story.entries)[:until]:
        entry = read_entry(line)
        assert entry is not None
        summary.add(entry)
    return summary


def runs() -> list[Summary]:
    """Two that passed, and one that was cut off in its first task."""
    return [summary_of(STORIES["climbing"](), until) for until in (None, 12, None)]


def test_rates_for_a_person() -> None:
    assert render_pass_rates(runs()) == (
        "3 runs: 2 of 3 (66.6%) passed; 1 unfinished\n"
        "\n"
        "task    passed          otherwise    attempts    tokens\n"
        "draft   2 of 3 (66.6%)  1 running    4 (2 to 5)  1,280 (640 to 1,600)\n"
        "report  2 of 3 (66.6%)  1 not begun  3           480\n"
        "\n"
        "tokens    1,600 (640 to 2,080) a run\n"
        "spent     $0.0130 in all\n"
        "work      27.0s in all\n"
    )


def test_rates_for_a_program() -> None:
    form = json.loads(render_pass_rates_json(runs()))

    assert form["runs"] == [RUN] * 3
    assert form["whole"] == {
        "passed": 2,
        "of": 3,
        "percent": 66.6,
        "otherwise": {"unfinished": 1},
        "attempts": {"mean": 6.0, "min": 2, "max": 8},
        "tokens": {"mean": 1600.0, "min": 640, "max": 2080},
    }
    assert form["tasks"][0]["task"] == "draft"
    assert form["tasks"][1]["otherwise"] == {"not begun": 1}


def test_a_run_that_was_interrupted_is_told_from_one_that_waits_for_a_person() -> None:
    stories = [Story(), Story()]
    for story, reason in zip(stories, ("interrupted", "gate"), strict=True):
        story.pause(reason)

    form = json.loads(render_pass_rates_json([summary_of(story) for story in stories]))

    assert form["whole"]["otherwise"] == {"interrupted": 1, "paused": 1}


def test_all_that_is_less_than_every_run_is_less_than_100_percent() -> None:
    often = [summary_of(STORIES["bare"]())] * 1999 + [summary_of(STORIES["cancelled"]())]

    assert render_pass_rates(often).startswith("2,000 runs: 1,999 of 2,000 (99.9%) passed; 1 cancelled\n")


def test_what_passed_least_often_is_listed_where_there_is_not_room_for_all() -> None:
    story = Story()
    for number in range(250):
        story.tell("task.ended", {"task": f"passed{number}", "state": "passed"})
    story.tell("task.ended", {"task": "failed", "state": "failed", "reason": "error"})

    told = render_pass_rates([summary_of(story)]).splitlines()

    assert "failed     0 of 1 (0%)    1 failed" in told
    assert "and 51 more, which passed as often or more often" in told


def test_no_runs_have_no_rate() -> None:
    assert render_pass_rates([]).startswith("0 runs: 0 of 0 (0%) passed\n")
