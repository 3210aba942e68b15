"""Strict JSON: third-party JSON is read exactly or rejected with a location."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.importing.source_error import SourceError
from forum_runner.importing.strict_json import JsonText, read_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def read(text: str, *, has_64_bit_integers: bool = False) -> Any:
    return read_json(JsonText("source.json", text.encode(), 7), has_64_bit_integers=has_64_bit_integers)


def rejection(text: str, *, has_64_bit_integers: bool = False) -> tuple[str, str]:
    with pytest.raises(SourceError) as caught:
        read(text, has_64_bit_integers=has_64_bit_integers)
    return caught.value.place, caught.value.sentence


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_written_by_python_is_read_unchanged(value: Any, is_ascii: bool, indent: int | None) -> None:
    assert read(json.dumps(value, ensure_ascii=is_ascii, indent=indent)) == value


@given(VALUES, VALUES, TEXTS)
def test_a_duplicate_key_is_rejected_at_any_depth(first: Any, second: Any, key: str) -> None:
    name = json.dumps(key)

    place, sentence = rejection(f'[1, {{"x": {{{name}: {json.dumps(first)}, {name}: {json.dumps(second)}}}}}]')

    assert place.startswith("line 7, column ")
    assert sentence.startswith("duplicate key ")


def test_the_same_key_may_appear_in_two_objects_and_as_a_value() -> None:
    assert read('[{"a": "a"}, {"a": {"a": 1}}]') == [{"a": "a"}, {"a": {"a": 1}}]


@pytest.mark.parametrize(
    ("text", "place", "sentence"),
    [
        ('{"a":\n1,\n"a":2}', "line 9, column 1", "duplicate key 'a'"),
        ('{"a":"\\ud83d"}', "line 7, column 6", "a string contains a lone surrogate"),
        ('{"\\udc00":1}', "line 7, column 2", "a string contains a lone surrogate"),
        ("[-1e400]", "line 7, column 2", "-1e400 is not a finite number"),
        ("[-Infinity]", "line 7, column 2", "-Infinity is not JSON"),
        ('{"a":1', "line 7, column 7", "truncated: the JSON text ends too early"),
        ('{"a":"1', "line 7, column 6", "truncated: a string is not closed"),
        ("[" * 5_000, "line 7", "nested too deeply"),
        ("[1] 2", "line 7, column 5", "invalid JSON: extra data"),
    ],
)
def test_errors_have_a_location(text: str, place: str, sentence: str) -> None:
    assert rejection(text) == (place, sentence)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read('["\\ud83d\\ude00"]') == ["😀"]


def test_64_bit_integers_are_accepted_if_the_format_has_them() -> None:
    assert read("[18446744073709551615]", has_64_bit_integers=True) == [2**64 - 1]
    assert rejection("[100000000000000000000]", has_64_bit_integers=True)[0] == "line 7, column 2"
