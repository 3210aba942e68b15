"""A single frame of the terminal display."""

from collections.abc import Iterable

import pytest
from rich.cells import cell_len

from fake_ledger.files import RUN
from fake_ledger.ledger_builder import STATES
from forum_runner.ledger.clock import parse_time
from forum_runner.progress.frame import RecentEvent, Screen, closing_frame, frame
from forum_runner.progress.run_view import RunView
from forum_runner.report.paint import STATE_COLORS
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of
from unit.runner.progress.example_plan import typed_plan

EVENTS = [RecentEvent("draft: attempt 1: error network"), RecentEvent("wrong: failed (verdict)", "failed")]


def view_of(example: ExampleRun, until: int | None = None) -> RunView:
    view = RunView(RUN, plan=typed_plan(example.plan))
    for seq, entry in enumerate(example.entries[:until]):
        view.apply(seq, parse_time(entry["at"]), entry["kind"], entry["data"])
    return view


def render_frame(
    view: RunView, screen: Screen, events: Iterable[RecentEvent] = (), wait: str | None = None, later_s: int = 2
) -> str:
    last = view.history.last
    now_us = (parse_time(last.at) if last else 0) + later_s * 1_000_000
    return "".join(f"{line.plain}\n" for line in frame(view, now_us, screen, events, wait))


def budgeted_view() -> RunView:
    """Return the view of a run with budgets during its first check."""
    return view_of(EXAMPLES["budget_stop"](), 15)


def test_a_frame_of_80_columns_shows_tasks_waits_budgets_and_events() -> None:
    assert render_frame(budgeted_view(), Screen(80, 24), EVENTS, "waiting 2.0s: retry of draft") == (
        f"test  19.5s  {RUN}\n"
        "wave 2 of 3: 0 of 1 ended\n"
        "tasks     ██████░░░░░░░░░░░░░░ 1 of 3  1 passed\n"
        "⠴ judged   2.0s  attempt 1, check 1 of 2 by a command\n"
        "waiting 2.0s: retry of draft\n"
        "budget    ██████████░░░░░░░░░░ 3 of 6 calls\n"
        "budget    █████░░░░░░░░░░░░░░░ 830 of 3,000 tokens\n"
        "budget    ████████░░░░░░░░░░░░ $0.0042 of $0.0100\n"
        "budget    █▒▒▒▒▒▒▒▒▒░░░░░░░░░░ 180 of 11,000 output bytes, 5,000 reserved\n"
        "draft: attempt 1: error network\n"
        "wrong: failed (verdict)\n"
    )


def test_a_frame_of_40_columns_omits_the_least_important_parts() -> None:
    assert render_frame(budgeted_view(), Screen(40, 24), EVENTS) == (
        "test  19.5s  01936b2e-4d10-7a3c-9f00-2b…\n"
        "wave 2 of 3: 0 of 1 ended\n"
        "tasks     ███░░░░░░░ 1 of 3  1 passed\n"
        "⠴ judged   2.0s  attempt 1, check 1 of …\n"
        "budget    █████░░░░░ 3 of 6 calls\n"
        "budget    ██░░░░░░░░ 830 of 3,000 tokens\n"
        "budget    ████░░░░░░ $0.0042 of $0.0100\n"
        "budget    █▒▒▒▒░░░░░ 180 of 11,000 outp…\n"
        "draft: attempt 1: error network\n"
        "wrong: failed (verdict)\n"
    )


def test_every_state_is_named_and_failures_come_first() -> None:
    view = view_of(EXAMPLES["failed_and_tolerated"](), 24)

    text = render_frame(view, Screen(40, 24))

    assert text == (
        "test  30.7s  01936b2e-4d10-7a3c-9f00-2b…\n"
        "tasks     ███████░░░ 7 of 8  2 failed\n"
        "          1 tolerated  3 skipped\n"
        "          1 passed\n"
        "instances ██████████ 2 of 2  1 failed\n"
        "          1 passed\n"
    )


def test_waves_count_their_ended_tasks() -> None:
    example = EXAMPLES["two_waves"]()
    first_end = next(seq for seq, entry in enumerate(example.entries) if entry["kind"] == "task.ended")

    assert render_frame(view_of(example, first_end + 1), Screen(80, 24)).splitlines()[1] == "wave 1 of 3: 1 of 2 ended"
    assert render_frame(view_of(example), Screen(80, 24)).splitlines()[1].startswith("wave 3 of 3: ")


def test_the_row_of_a_task_shows_its_current_activity() -> None:
    example = ExampleRun(plan_of("escalated"))
    example.wave()
    rows = []

    def record_row() -> None:
        [row] = [line for line in render_frame(view_of(example), Screen(100, 24)).splitlines() if " draft " in line]
        rows.append(row.partition("s  ")[2])

    example.start("draft")
    record_row()
    example.fail("draft", "rate_limited")
    record_row()
    example.start("draft")
    record_row()
    example.finish("draft", {"title": "one"})
    example.check("draft")
    example.ask("draft")
    record_row()
    example.judge("draft")
    example.ask("draft")
    example.judge("draft", "fail")
    record_row()
    example.escalate("draft")
    record_row()

    assert rows == [
        "attempt 1 by writer via small (cheap)",
        "attempt 1: error rate_limited, 900ms, 160 tokens",
        "attempt 2 by writer via small (cheap), retry after: rate_limited",
        "attempt 2, check 2 of 3 by a command",
        "attempt 2, check 3 of 3 by critic: fail, 900ms, 160 tokens",
        "escalated from cheap to capable",
    ]


def test_every_state_has_its_own_color() -> None:
    assert set(STATE_COLORS) == set(STATES)
    assert len(set(STATE_COLORS.values())) == len(STATES)


def task_names_in(text: str) -> list[str]:
    """Return the names in the rows of running tasks, which start with a one-character mark."""
    return [line.split()[1] for line in text.splitlines() if line[0] != " " and line[1] == " "]


def test_at_most_twelve_tasks_are_listed_with_retried_and_running_ones_first() -> None:
    example = ExampleRun(plan_of("wide"))
    first, *names = [name for wave in example.plan["waves"][:-1] for name in wave]
    example.start(first)
    for name in names:
        example.start(name)
    example.fail(names[-1], "timeout")
    example.finish(first, "done")

    text = render_frame(view_of(example), Screen(80, 24))

    assert task_names_in(text) == [names[-1], *names[:11]]
    assert text.endswith("  and 8 more\n")


def test_retried_tasks_leave_half_of_the_rows_to_other_running_tasks() -> None:
    example = ExampleRun(plan_of("wide"))
    names = [name for wave in example.plan["waves"][:-1] for name in wave]
    for name in names:
        example.start(name)
    for name in names[:13]:
        example.fail(name, "timeout")

    assert task_names_in(render_frame(view_of(example), Screen(80, 24))) == [*names[:6], *names[13:19]]


@pytest.mark.parametrize(
    ("name", "displayed"),
    [
        ("build[os=ubuntu-latest,python={}]", "build[os=ubuntu-latest,python={}]"),
        ("build[compiler=clang,os=ubuntu-latest,python={}]", "build[clang,ubuntu-latest,{}]"),
        ("build_and_test_what_is_installed_for_{}_alone", "build_and_test_wh...d_for_{}_alone"),
    ],
)
def test_long_names_with_a_common_prefix_stay_distinguishable(name: str, displayed: str) -> None:
    view = RunView(RUN)
    for seq, version in enumerate(("3.11", "3.12")):
        view.apply(seq, 0, "task.started", {"task": name.format(version), "attempt": 1})

    text = render_frame(view, Screen(90, 24))

    assert task_names_in(text) == [displayed.format(version) for version in ("3.11", "3.12")]
    assert len({line.index("attempt 1 by") for line in text.splitlines()[2:]}) == 1


def test_a_terminal_with_few_rows_keeps_the_heading_and_the_budgets() -> None:
    text = render_frame(budgeted_view(), Screen(80, 9), EVENTS).splitlines()

    assert [line.split()[0] for line in text] == ["test", "wave", "tasks", "⠴", *["budget"] * 4]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("width", [20, 40, 80, 300])
def test_every_line_fits_the_width_at_every_entry(name: str, width: int) -> None:
    example = EXAMPLES[name]()
    view = RunView(RUN, plan=typed_plan(example.plan))
    screen = Screen(width, 12)

    for seq, entry in enumerate(example.entries):
        view.apply(seq, parse_time(entry["at"]), entry["kind"], entry["data"])
        for rendered in (frame(view, 0, screen, EVENTS, "wait " * 90), closing_frame(view, 0, screen)):
            assert [line.plain for line in rendered if cell_len(line.plain) > width] == []


def test_a_terminal_without_unicode_gets_ascii() -> None:
    assert render_frame(budgeted_view(), Screen(60, 24, is_ascii=True), EVENTS).isascii()


def test_names_from_manifests_are_neither_terminal_codes_nor_markup() -> None:
    plan = {**ExampleRun(plan_of("escalated")).plan, "metadata": {"name": "a\x1b[2J[red]b[/red]"}}
    view = RunView(RUN, plan=typed_plan(plan))

    text = render_frame(view, Screen(80, 24), wait="\x9b31m")

    assert text.startswith("a\N{REPLACEMENT CHARACTER}[2J[red]b[/red]  0ms")
    assert "\x1b" not in text
    assert "\x9b" not in text


def test_the_clock_stops_during_a_pause_and_after_the_end() -> None:
    paused = view_of(EXAMPLES["gate_approved"](), 8)
    ended = view_of(EXAMPLES["cancelled"]())

    assert render_frame(paused, Screen(80, 24), later_s=900).startswith("test  paused (gate)  8.7s  ")
    assert render_frame(ended, Screen(80, 24), later_s=900).startswith("test  cancelled  11.2s  ")


def test_the_wall_budget_is_measured_by_the_clock_and_not_by_calls() -> None:
    example = EXAMPLES["budget_stop"]()
    example.plan["policy"]["budget"] = {"wall_ms": 60_000}
    view = view_of(example, 15)

    assert render_frame(view, Screen(80, 24)).splitlines()[-1] == "budget    ██████░░░░░░░░░░░░░░ 19.5s of 1m00s"
