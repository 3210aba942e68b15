"""Tracing causes, reading a ledger backwards."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import ledger_of
from fake_ledger.ledger_builder import LedgerBuilder
from forum_runner.errors import UsageError
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.trace import lines_backwards, trace_entry
from ledgers import EXAMPLES


@contextmanager
def file_of(data: bytes) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        yield cast(BinaryIO, stream)


def traced(data: bytes, seq: int) -> tuple[list[int], set[int]]:
    with file_of(data) as stream:
        items = list(trace_entry(stream, seq, "run"))
    return [item.seq for item in items if item.entry is not None], {item.seq for item in items if item.entry is None}


def ledger(*causes: tuple[int, ...]) -> bytes:
    builder = LedgerBuilder()
    for earlier in causes:
        builder.add("x-step", causes=earlier)
    return ledger_of(builder.lines())


@given(st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"x" * 150_000]), max_size=6))
def test_reading_backwards_yields_the_same_lines_as_forwards(pieces: list[bytes]) -> None:
    data = b"".join(pieces)

    with file_of(data) as stream:
        assert list(lines_backwards(stream)) == list(Lines(io.BytesIO(data)))[::-1]


def test_reading_backwards_skips_a_line_too_long_for_memory() -> None:
    with file_of(b"one\n" + b"x" * 5_000_000 + b"\ntwo\ntorn") as stream:
        assert list(lines_backwards(stream)) == [b"two", b"one"]


def test_a_trace_contains_the_entry_and_all_its_causes() -> None:
    data = ledger((), (0,), (0,), (1,), (1, 2), (4,), (3,))

    assert traced(data, 5) == ([5, 4, 2, 1, 0], set())
    assert traced(data, 6) == ([6, 3, 1, 0], set())
    assert traced(data, 0) == ([0], set())


def test_a_trace_contains_no_later_entries() -> None:
    example = EXAMPLES["escalated"]()
    data = ledger_of(example.lines())

    seqs, missing = traced(data, 27)

    assert (seqs, missing) == ([27, 21, 20, 19, 18, 15, 14, 5, 4, 3, 2], set())


def test_missing_causes_are_reported() -> None:
    lines = ledger((), (0,), (0, 1)).split(b"\n")

    assert traced(b"\n".join([lines[0], b"garbage", *lines[2:]]), 2) == ([2, 0], {1})


def test_a_cause_that_is_not_earlier_is_ignored() -> None:
    assert traced(ledger((), (1, 2), (0,)), 1) == ([1], set())


@pytest.mark.parametrize("data", [b"", b"torn", b"\n", b"garbage\n"])
def test_a_missing_entry_has_no_trace(data: bytes) -> None:
    with pytest.raises(UsageError, match="has no entry 0: it has no entries"):
        traced(data, 0)
