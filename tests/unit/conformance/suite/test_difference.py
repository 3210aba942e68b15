"""Differences name their location."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_conformance.suite.difference import (
    Difference,
    answer_differences,
    byte_difference,
    line_difference,
    value_difference,
)


def test_an_expected_answer_has_no_difference() -> None:
    expected: dict[str, Any] = {
        "verdict": "valid",
        "codes": [],
        "first_bad_seq": None,
        "levels": dict.fromkeys("12345", "ok"),
    }

    assert answer_differences(expected, {"protocol": 1, "verdict": "valid", "message": "all is well"}) == []


def test_each_member_is_compared() -> None:
    expected = {"verdict": "invalid", "codes": ["L201"], "first_bad_seq": 4, "warnings": ["F031"], "status": "passed"}

    assert answer_differences(expected, {"verdict": "valid"}) == [
        Difference("verdict", '"invalid"', '"valid"'),
        Difference("codes", '["L201"]', "[]"),
        Difference("first_bad_seq", "4", "null"),
        Difference("warnings", '["F031"]', "[]"),
        Difference("status", '"passed"', "null"),
    ]


def test_codes_must_be_sorted() -> None:
    answer = {"verdict": "invalid", "codes": ["L301", "L201"]}

    assert [
        difference.place for difference in answer_differences({"verdict": "invalid", "codes": ["L201", "L301"]}, answer)
    ] == ["codes"]


def test_levels_are_compared_if_the_answer_has_them() -> None:
    expected = {"verdict": "valid", "levels": dict.fromkeys("1234", "ok") | {"5": "not checked"}}

    assert answer_differences(expected, {"verdict": "valid"}) == []
    assert answer_differences(expected, {"verdict": "valid", "levels": {"1": "ok", "2": "fail", "4": "ok"}}) == [
        Difference("level 2", "ok", "fail"),
        Difference("level 3", "ok", "not checked"),
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "difference"),
    [
        (
            b"[1]",
            b"[1.0]",
            Difference(
                "output, byte 2",
                "[1] (from byte 0 in hex: 5b 31 5d)",
                "[1.0] (from byte 0 in hex: 5b 31 2e 30 5d)",
            ),
        ),
        (b"[1]", b"", Difference("output, byte 0", "[1] (from byte 0 in hex: 5b 31 5d)", "nothing")),
        (
            b"\xc3\xa9",
            b"e\xcc\x81",
            Difference("output, byte 0", "é (from byte 0 in hex: c3 a9)", "e\u0301 (from byte 0 in hex: 65 cc 81)"),
        ),
        (b"\xff", b"x", Difference("output, byte 0", "<FF> (from byte 0 in hex: ff)", "x (from byte 0 in hex: 78)")),
        (
            b"a" * 500 + b"b" + b"c" * 500,
            b"a" * 500 + b"d" + b"c" * 500,
            Difference(
                "output, byte 500",
                "..." + "a" * 100 + "b" + "c" * 99 + " (from byte 496 in hex: 61 61 61 61 62 63 63 63 63 63 63 63)",
                "..." + "a" * 100 + "d" + "c" * 99 + " (from byte 496 in hex: 61 61 61 61 64 63 63 63 63 63 63 63)",
            ),
        ),
    ],
)
def test_the_first_different_byte_is_shown(expected: bytes, actual: bytes, difference: Difference) -> None:
    assert byte_difference("output", expected, actual) == difference
    assert byte_difference("output", expected, expected) is None


@pytest.mark.parametrize(
    ("actual", "difference"),
    [
        (b"one\ntwice\nthree\n", Difference("ledger.jsonl, line 2", "two", "twice")),
        (b"one\ntwo\n", Difference("ledger.jsonl, line 3", "three", "the end of the file")),
        (b"one\ntwo\nthree\nfour\n", Difference("ledger.jsonl, line 4", "the end of the file", "four")),
        (b"", Difference("ledger.jsonl, line 1", "one", "the end of the file")),
        (b"one\ntwo\nthree", Difference("ledger.jsonl, line 3", "ends with LF", "has no LF")),
    ],
)
def test_the_first_different_line_is_shown(actual: bytes, difference: Difference) -> None:
    assert line_difference("ledger.jsonl", b"one\ntwo\nthree\n", actual) == difference


def test_a_long_line_is_shortened_around_the_difference() -> None:
    difference = line_difference("ledger.jsonl", b"a" * 3000 + b"\n", b"a" * 2999 + b"b\n")

    assert difference == Difference("ledger.jsonl, line 1, byte 2999", "..." + "a" * 101, "..." + "a" * 100 + "b")


@pytest.mark.parametrize(
    ("expected", "actual", "difference"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}, Difference("output /a/1", "2", "3")),
        ({"a": 1}, {"a": True}, Difference("output /a", "1", "true")),
        ({"a": 1}, {}, Difference("output /a", "1", "missing")),
        ({}, {"b": None}, Difference("output /b", "missing", "null")),
        ([1], [1, 2], Difference("output ", "[1]", "[1, 2]")),
        ({"a": 1}, {"a": 1.0}, Difference("output /a", "1", "1.0")),
        ({"a": [{}], "b": "c"}, {"b": "c", "a": [{}]}, None),
    ],
)
def test_the_first_different_member_is_shown(expected: Any, actual: Any, difference: Difference | None) -> None:
    assert value_difference("output ", expected, actual) == difference


BYTES = st.binary(max_size=20) | st.lists(st.sampled_from([b"a", b"b", b"\n"]), max_size=8).map(b"".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(BYTES, BYTES)
def test_files_differ_if_and_only_if_their_bytes_differ(expected: bytes, actual: bytes) -> None:
    assert (byte_difference("output", expected, actual) is None) is (expected == actual)
    assert (line_difference("output", expected, actual) is None) is (expected == actual)


@given(VALUES, VALUES)
def test_values_differ_if_and_only_if_their_json_differs(expected: Any, actual: Any) -> None:
    is_same = json.dumps(expected, sort_keys=True) == json.dumps(actual, sort_keys=True)

    assert (value_difference("output ", expected, actual) is None) is is_same
