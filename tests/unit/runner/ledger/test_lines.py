"""Reading lines: only LF ends a line, and lines of any length are counted and hashed."""

import hashlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.lines import MAX_HELD_BYTES, Lines, LongLine, leaf_of, length_of

NO_LINE_BREAKS = "\u2028\u2029\u0085\r\x0b\x0c\x1c\x00".encode()


def read(data: bytes) -> tuple[list[bytes], bytes]:
    lines = Lines(io.BytesIO(data))
    return list(lines), lines.torn


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), st.binary(max_size=9))
def test_lines_and_the_torn_tail_are_split_at_lf(lines: list[bytes], tail: bytes) -> None:
    torn = tail.replace(b"\n", b"")

    assert read(b"".join(line + b"\n" for line in lines) + torn) == (lines, torn)


@pytest.mark.requirement("LEDGER-LINE-001")
def test_no_other_character_ends_a_line() -> None:
    assert read(b"a" + NO_LINE_BREAKS + b"b\nc\n") == ([b"a" + NO_LINE_BREAKS + b"b", b"c"], b"")


def test_empty_input_has_no_lines_and_a_single_lf_has_one() -> None:
    assert read(b"") == ([], b"")
    assert read(b"\n") == ([b""], b"")


def test_a_line_of_a_megabyte_is_returned_completely() -> None:
    line = b"x" * 1_000_000

    assert read(line + b"\nafter\n") == ([line, b"after"], b"")


@pytest.mark.parametrize("size", [MAX_HELD_BYTES, MAX_HELD_BYTES + 1, 3 * MAX_HELD_BYTES, 3 * MAX_HELD_BYTES + 7])
@pytest.mark.requirement("LEDGER-LINE-006")
def test_a_line_too_long_for_memory_is_counted_and_hashed_completely(size: int) -> None:
    line = b"y" * size

    (before, long, after), torn = read(b"before\n" + line + b"\nafter\ntorn")

    assert (before, after, torn) == (b"before", b"after", b"torn")
    assert isinstance(long, LongLine)
    assert len(long) < 70_000
    assert length_of(long) == size
    assert leaf_of(long) == hashlib.sha256(b"\0" + line).digest()


def test_a_torn_tail_too_long_for_memory_is_counted() -> None:
    lines, torn = read(b"a\n" + b"z" * (2 * MAX_HELD_BYTES))

    assert lines == [b"a"]
    assert length_of(torn) == 2 * MAX_HELD_BYTES
    assert len(torn) < 70_000


def test_the_hash_of_a_line_is_its_merkle_leaf_hash() -> None:
    assert leaf_of(b"line") == hashlib.sha256(b"\0line").digest()
    assert length_of(b"line") == 4
