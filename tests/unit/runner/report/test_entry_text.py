"""Entries as text: amounts, data and lines, without terminal codes from a ledger."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.history.run_history import RunHistory
from forum_runner.history.working_time import elapsed_us
from forum_runner.ledger.entries import KINDS
from forum_runner.ledger.read_entry import ReadEntry, read_entry
from forum_runner.report.amounts import clip, duration, money, time_text
from forum_runner.report.budget_text import excess_text
from forum_runner.report.entry_text import entry_text
from forum_runner.report.log_line import log_line
from forum_runner.report.summary_json import summary_document
from forum_runner.report.summary_text import render_summary
from forum_runner.report.table import table
from forum_runner.report.trace_text import CauseLanes
from ledgers import EXAMPLES

TERMINAL_CODES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FIELDS = [
    "task",
    "state",
    "usage",
    "torn",
    "implementation",
    "counts",
    "totals",
    "as",
    "output",
    "name",
    "mode",
    "from",
]
HOSTILE_TEXT = st.text(st.sampled_from("a\x1b[31m\x00\x07\x9b\x85\u2028\u202e\r\n\t"), max_size=8)
VALUES = st.recursive(
    HOSTILE_TEXT | st.integers(-(2**63), 2**64 - 1) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(HOSTILE_TEXT | st.sampled_from(FIELDS), inner, max_size=3)
    ),
    max_leaves=5,
)
MAPPINGS = st.dictionaries(st.sampled_from(FIELDS) | HOSTILE_TEXT, VALUES, max_size=5)


def entry(kind: str, **data: object) -> ReadEntry:
    return ReadEntry("r", 7, "2026-11-15T09:00:00.123456Z", "runner", kind, [], data, {})


@pytest.mark.parametrize(
    ("micro_usd", "text"),
    [(0, "$0.0000"), (2300, "$0.0023"), (2310, "$0.002310"), (1, "$0.000001"), (1_234_560_000, "$1,234.5600")],
)
def test_amounts_of_money_are_exact(micro_usd: int, text: str) -> None:
    assert money(micro_usd) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0ms"), (999, "999ms"), (2_203, "2.2s"), (59_999, "59.9s"), (61_000, "1m01s"), (7_260_000, "2h01m")],
)
def test_durations_have_a_suitable_unit(milliseconds: int, text: str) -> None:
    assert duration(milliseconds) == text


def test_times_have_milliseconds_and_invalid_times_are_kept() -> None:
    assert time_text("2026-11-15T09:00:00.123456Z") == "2026-11-15 09:00:00.123Z"
    assert time_text("\x1b[2J") == "\N{REPLACEMENT CHARACTER}[2J"


def test_elapsed_time_is_never_negative() -> None:
    assert elapsed_us("2026-11-15T09:00:00.000000Z", "2026-11-15T09:00:01.500000Z") == 1_500_000
    assert elapsed_us("2026-11-15T09:00:01.000000Z", "2026-11-15T09:00:00.000000Z") == 0
    assert elapsed_us("now", "2026-11-15T09:00:00.000000Z") is None


def test_long_text_is_clipped() -> None:
    assert clip("x" * 500, 10) == "xxxxxxx..."


def test_entries_are_described_in_a_few_words() -> None:
    usage = {"input_tokens": 400, "output_tokens": 12, "micro_usd": 2300, "wall_ms": 2203}

    assert (
        entry_text(entry("task.started", attempt=2, agent="writer", tier="capable", adapter="local"))
        == "attempt 2 by writer via local (capable)"
    )
    assert (
        entry_text(entry("task.finished", attempt=1, status="ok", usage=usage))
        == "attempt 1: ok, 2.2s, 412 tokens, $0.0023"
    )
    failed = entry("task.finished", attempt=2, status="error", error="exit_status", exit_status=3)
    assert entry_text(failed) == "attempt 2: error exit_status (exit 3)"
    assert entry_text(entry("task.ended", state="failed", reason="verdict")) == "failed (verdict)"
    assert entry_text(entry("x-note", a=[1])) == '{"a":[1]}'
    assert entry_text(entry("x-note")) == ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_entry_of_every_example_is_one_line(name: str) -> None:
    for line in EXAMPLES[name]().lines():
        read = read_entry(line)
        assert read is not None
        assert TERMINAL_CODES.search(log_line(read, color=False)) is None


@given(st.sampled_from([*sorted(KINDS), "x-own", "\x1b[2J"]), MAPPINGS, MAPPINGS, HOSTILE_TEXT)
def test_no_entry_can_print_terminal_codes_or_crash_the_report(
    kind: str, data: dict[str, object], bodies: dict[str, object], name: str
) -> None:
    read = ReadEntry(name, 0, name, name, kind, [], {**data, "task": name}, bodies)
    history = RunHistory()
    history.apply(read)

    lines = [log_line(read, color=False), *render_summary(history, "run", color=False)]

    assert [line for line in lines if TERMINAL_CODES.search(line)] == []
    assert json.dumps(summary_document(history)).isascii()


def test_color_is_added_if_enabled() -> None:
    ended = entry("task.ended", state="failed")

    assert "\x1b[31mfailed\x1b[0m" in log_line(ended, color=True)
    assert "\x1b" not in log_line(ended, color=False)


def test_an_empty_column_is_omitted() -> None:
    rows = [("task", "reason", "tokens"), ("a", "", "1"), ("long", "", "12")]

    assert table(rows, right=(2,)) == ["task  tokens", "a          1", "long      12"]


def test_lanes_lead_from_an_entry_to_its_causes() -> None:
    causes = {6: [4, 5], 5: [2], 4: [2, 3], 3: [], 2: []}
    lanes = CauseLanes(6)
    rows = []
    for seq, seqs in causes.items():
        line = lanes.line(ReadEntry("r", seq, "now", "runner", "x-step", seqs, {}, {}), color=False)
        rows.append((line.partition("  ")[0], line.partition("  <- ")[2]))

    assert rows == [("*", "4, 5"), ("* |", ""), ("| *", "2, 3"), ("| *", ""), ("*", "")]


@pytest.mark.parametrize(
    ("amount", "needed", "text"),
    [
        ("tokens", 20, "990 of 1,000 tokens used; the next call needs 20"),
        ("tokens", 0, "990 of 1,000 tokens used"),
        ("wall_ms", 600_000, "990ms of 1.0s used"),
    ],
)
def test_the_needed_amount_of_a_stopped_call_is_shown_except_for_time(amount: str, needed: int, text: str) -> None:
    data = {"scope": "run", "amount": amount, "used": 990, "limit": 1000, "needed": needed}

    assert entry_text(entry("budget.stopped", **data)) == f"stopped by the budget of the run: {text}"


def test_an_exceeded_budget_is_described_in_singular_and_plural() -> None:
    data = {"attempt": 1, "amount": "input_tokens", "used": 300}

    texts = [excess_text({**data, "reserved": reserved}) for reserved in (1, 258)]

    assert texts == [
        "attempt 1 used 300 input tokens, more than the 1 input token reserved",
        "attempt 1 used 300 input tokens, more than the 258 input tokens reserved",
    ]


def test_every_kind_has_a_text() -> None:
    without_data = {kind: entry_text(entry(kind)) for kind in KINDS}

    assert [kind for kind, sentence in without_data.items() if not sentence] == []
