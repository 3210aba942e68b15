"""Plain progress for CI logs."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import RUN
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.entries import KINDS
from forum_runner.progress.plain import PlainProgress
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of
from unit.runner.progress.example_plan import typed_plan

Feed = Callable[..., None]
LINE = re.compile(r"\[ *[0-9]+[.][0-9]s\] [^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def print_progress(feed: Feed, example: ExampleRun, until: int | None = None, earlier_count: int = 0) -> str:
    stream = io.StringIO()
    feed(PlainProgress(stream), example, until, earlier_count)
    return stream.getvalue()


def test_the_lines_of_a_run_show_attempts_checks_budgets_and_the_result(feed: Feed) -> None:
    assert print_progress(feed, EXAMPLES["budget_stop"]()) == (
        f"[   0.0s] run {RUN} in .forum/runs/{RUN}\n"
        "[   0.0s] test: 3 tasks in 3 waves\n"
        "[   0.0s] opened by pretend-runner 1.0.0, mode scripted, plan 2834bb50dea0\n"
        "[   1.2s] wave 1 of 3: 1 task\n"
        "[   2.5s] draft: attempt 1 by writer via small (cheap)\n"
        "[   3.7s] draft: attempt 1: error network, 900ms, 160 tokens\n"
        "[   5.0s] draft: escalated from cheap to frontier\n"
        "[   6.2s] draft: attempt 2 by writer via large (frontier), retry after: network\n"
        "[   8.7s] draft: attempt 2 used $0.0042, more than the $0.0040 reserved\n"
        "[  10.0s] draft: passed, 2 attempts, 1.8s, 670 tokens, $0.0042\n"
        "[  11.2s] wrote output `draft`\n"
        "[  12.5s] wave 2 of 3: 1 task\n"
        "[  15.0s] judged: attempt 1 by writer via small (cheap)\n"
        "[  18.7s] judged: attempt 1, check 1 of 2 by a command: pass, 900ms\n"
        "[  21.2s] judged: attempt 1, check 2 of 2 by critic: pass, 900ms, 160 tokens\n"
        "[  22.5s] judged: passed, 2.7s, 320 tokens\n"
        "[  23.7s] wave 3 of 3: 1 task\n"
        "[  26.2s] stopped by the budget of the agent 'writer': 830 of 2,200 tokens used; the next call needs 1,400\n"
        "[  27.5s] stopped by the budget of the run: 990 of 3,000 tokens used; the next call needs 1,400\n"
        "[  28.7s] last: stopped (budget)\n"
        "[  30.0s] finished: stopped (2 passed, 1 stopped), 4 calls, 4.5s, 990 tokens, $0.0042\n"
    )


def test_a_gate_is_printed_with_the_command_that_lists_it(feed: Feed) -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    example.pause()
    example.decide("archive", "approved")
    example.resume()

    assert print_progress(feed, example).splitlines()[3:] == [
        "[   1.2s] archive: waiting for a decision until 2026-11-15 10:00:01.250Z, then approve: Keep?",
        f"[   1.2s]   to decide: forum gate list {RUN}",
        "[   2.5s] paused (gate)",
        "[   2.5s] archive: approved by person",
        "[   2.5s] resumed by pretend-runner 1.0.0",
    ]


def test_commands_name_the_directory_if_it_is_not_the_default() -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    stream = io.StringIO()
    progress = PlainProgress(stream)

    progress.opened(RUN, Path("my runs/first"), typed_plan(example.plan))
    for seq, entry in enumerate(example.entries):
        progress.entry(seq, parse_time(entry["at"]), entry["kind"], entry["data"])

    assert "forum gate list 'my runs/first'\n" in stream.getvalue()


def test_reused_and_skipped_tasks_and_the_earlier_run_are_printed(feed: Feed) -> None:
    earlier = "01936b2e-4d10-7a3c-9f00-000000000001"

    lines = print_progress(feed, EXAMPLES["reused_and_skipped"]()).splitlines()

    assert lines[2].endswith(f"from run {earlier}")
    assert f"[   2.5s] log: reused from run {earlier}, seq 4" in lines
    assert f"[   7.5s] draft: reused from run {earlier}, seq 9 (cache)" in lines
    assert "[  12.5s] warn: skipped (condition)" in lines


def test_losses_routes_expansions_and_unsuccessful_ends_are_printed(feed: Feed) -> None:
    text = "".join(
        print_progress(feed, EXAMPLES[name]()) for name in ("crash_and_resume", "routed", "failed_and_tolerated")
    )

    for line in (
        "one: attempt 1: lost (outcome unknown)",
        "two: attempt 1, check 1 of 1: lost (outcome unknown)",
        "one: attempt 2 by writer via small (cheap), retry after: lost",
        "repaired: set aside 28 bytes of ledger.jsonl, 700 bytes of bodies.tar",
        "write: routed to writer (by keywords)",
        "each: expanded into 2 instances",
        "wrong: attempt 1, check 1 of 1 by a schema: fail",
        "wrong: failed (verdict), 900ms, 160 tokens",
        "risky: tolerated (error), 900ms, 160 tokens",
        "lost: skipped (upstream)",
        "some[1]: failed (error), 900ms, 160 tokens",
    ):
        assert f"] {line}\n" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_deliveries_are_not_printed_and_a_passing_task_takes_two_lines(feed: Feed, name: str) -> None:
    example = EXAMPLES[name]()

    lines = print_progress(feed, example).splitlines()

    assert [line for line in lines if not LINE.fullmatch(line)] == []
    kinds = [entry["kind"] for entry in example.entries]
    silent = sum(kind in ("edge.delivered", "verdict.asked") or "x-" in kind for kind in kinds)
    succeeded = sum(entry["data"].get("status") == "ok" for entry in example.entries)
    gates = kinds.count("gate.opened")
    redactions = kinds.count("body.redacted")
    assert len(lines) == 2 + len(example.entries) - silent - succeeded - redactions + gates


def test_entries_of_an_earlier_process_count_and_are_not_printed(feed: Feed) -> None:
    example = EXAMPLES["escalated"]()
    complete, half = print_progress(feed, example).splitlines(), len(example.entries) // 2

    resumed = print_progress(feed, example, earlier_count=half).splitlines()

    assert resumed[2:] == complete[-len(resumed) + 2 :]
    assert resumed[-1] == complete[-1]


def test_a_long_wait_is_printed_once_and_a_short_one_is_not() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = PlainProgress(stream, clock=lambda: now[0])
    progress.entry(0, 5_000_000, "run.opened", {"mode": "live"})
    now[0] = 1.5

    progress.waiting(7_000_000, "rate limit before draft")
    progress.waiting(10_430_000, "retry of draft")
    now[0] = 2.5
    progress.waiting(10_430_000, "retry of draft")
    progress.waiting(3_607_500_000, "retry of report")

    assert stream.getvalue().splitlines()[1:] == [
        "[   1.5s] waiting 4.0s: retry of draft",
        "[   2.5s] waiting 1h00m: retry of report",
    ]


def test_a_stop_request_is_printed_with_its_time() -> None:
    stream, now = io.StringIO(), [100.0]
    progress = PlainProgress(stream, clock=lambda: now[0])
    progress.entry(0, 5_000_000, "run.opened", {"mode": "live"})
    progress.entry(1, 6_000_000, "wave.opened", {"wave": 0})
    now[0] = 107.5

    progress.stopping()

    assert stream.getvalue().splitlines()[-1].startswith("[   8.5s] stopping: ")


def test_states_are_colored_if_color_is_enabled(feed: Feed) -> None:
    stream = io.StringIO()
    feed(PlainProgress(stream, color=True), EXAMPLES["failed_and_tolerated"]())

    assert "\x1b[31mwrong: failed (verdict), 900ms, 160 tokens\x1b[0m\n" in stream.getvalue()
    assert "\x1b[33mrisky: tolerated" in stream.getvalue()
    assert "\x1b[36mlost: skipped" in stream.getvalue()


HOSTILE_TEXT = st.text(st.sampled_from("a\x1b[31m\x00\x9b\x85\u2028\u202e\r\n\t"), max_size=8)
VALUES = st.recursive(
    HOSTILE_TEXT | st.integers(-9, 2**64) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE_TEXT, inner, max_size=3),
    max_leaves=5,
)
DATA_FIELDS = (
    "task attempt agent usage reserved state status reason verdict check by error instances wave deadline".split()
)
PLAN = {
    **ExampleRun(plan_of("escalated")).plan,
    "metadata": {"name": "n\x9b"},
    "tasks": {"a": {"gate": {"question": ["\x1b[2J\n"], "on_deadline": "reject"}, "accept": [{"agent": "\x1b"}]}},
    "waves": [["a"]],
}


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.dictionaries(st.sampled_from(DATA_FIELDS), VALUES))))
def test_no_entry_can_print_terminal_codes_or_crash_the_display(entries: list[tuple[str, dict[str, object]]]) -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream)
    progress.opened("\x1b[31m", Path("d\n"), typed_plan(PLAN))

    for seq, (kind, data) in enumerate(entries):
        progress.entry(seq, seq, kind, {"task": "a", **data})

    assert [line for line in stream.getvalue().split("\n")[:-1] if not LINE.fullmatch(line)] == []
