"""Canonical JSON compared with the published cases, the published number table and the reference implementation."""

import hashlib
import json
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import IntEnum, StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from forum_runner.canonical import MAX_DEPTH, canonical
from forum_runner.errors import CanonicalError

VECTORS = Path(__file__).parents[3] / "conformance" / "vectors" / "v1" / "canonical"
PUBLISHED = ("arrays", "french", "structures", "unicode", "values", "weird")
CASES = sorted(path.parent for path in VECTORS.glob("*/output.json"))
DIGESTS = json.loads((VECTORS / "numbers" / "digests.json").read_text(encoding="utf-8"))
FIRST_NORMAL = 0x0010000000000000
EXPONENT = 0x7FF0000000000000
SIGN = 0x8000000000000000
MAX_INTEGER = 2**53 - 1

Write = Callable[[Any], bytes]


class Count(int):
    pass


class Name(str):
    __slots__ = ()


class Share(float):
    pass


class Level(IntEnum):
    LOW = 1
    BEYOND = 2**53


class Color(StrEnum):
    RED = "red"


class StringLookalike:
    """Looks like a string to code that sorts keys by `encode`."""

    def encode(self, _encoding: str) -> bytes:
        return b""


@pytest.mark.parametrize("write", [canonical, rfc8785.dumps], ids=["ours", "reference"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_published_input_has_the_published_output(case: Path, write: Write) -> None:
    value = json.loads((case / "input.json").read_bytes())

    assert write(value) == (case / "output.json").read_bytes()


def test_no_published_case_is_missing() -> None:
    assert sorted(set(PUBLISHED) - {case.name for case in CASES}) == []


def number_bits() -> Iterator[int]:
    """Yield the published sequence of doubles, as described in the README of the vectors."""
    yield from (int(line, 16) for line in (VECTORS / "numbers" / "static.txt").read_text(encoding="ascii").split())
    yield from range(FIRST_NORMAL, FIRST_NORMAL + 2000)
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        yield from (bits for bits in struct.unpack("<4Q", block) if bits & EXPONENT != EXPONENT and bits & ~SIGN)


def double(bits: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize("count", [1_000, 10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.bench)])
def test_numbers_match_the_published_table(count: int) -> None:
    table = hashlib.sha256()

    for bits in islice(number_bits(), count):
        table.update(b"%x,%s\n" % (bits, canonical(double(bits))))

    assert table.hexdigest() == DIGESTS[str(count)]


EDGE_VALUES: list[Any] = [
    *(
        sign * number
        for sign in (1, -1)
        for number in (MAX_INTEGER, 0.0, 5e-324, 1e-7, 1e-6, 1e20, 1e21, 2.0**53, 1e308)
    ),
    "\x00\x1f\x7f\x80\u2028\ufeff\uffff\U0010ffff",
    '"\\/\b\f\n\r\t',
]
NOT_CANONICAL: list[Any] = [
    *(MAX_INTEGER + 1, -MAX_INTEGER - 1, 10**400, Count(-(10**400)), Level.BEYOND),
    *(float("nan"), float("inf"), -float("inf"), Share("nan")),
    *("\ud800", "\udfff", "\udc00\ud800", Name("\ud800")),
    *(b"", {1}, object(), range(2), 1j),
]
# Python refuses to print these, so hypothesis and error messages cannot show them.
UNPRINTABLE: list[Any] = [10**5000, -(10**5000), Count(10**5000)]
KEYS_NOT_CANONICAL: list[Any] = [1, 1.5, None, True, b"", (), Level.LOW, "\ud800", Name("\udc00"), StringLookalike()]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(EDGE_VALUES)
    | st.integers(-MAX_INTEGER, MAX_INTEGER).map(Count)
    | st.floats(allow_nan=False, allow_infinity=False).map(Share)
    | st.text().map(Name)
    | st.sampled_from([Level.LOW, Color.RED])
)
KEYS = st.text() | st.text('ab\x00\x1f"\\\x7f\x80\uffff\U00010000') | st.text().map(Name) | st.just(Color.RED)


def nested(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def wrap(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner)
        objects = st.dictionaries(keys, inner)
        return lists | lists.map(tuple) | objects | objects.map(OrderedDict)

    return st.recursive(leaves, wrap, max_leaves=20)


def encoded_or_none(write: Write, value: Any, error: type[Exception]) -> bytes | None:
    try:
        return write(value)
    except error:
        return None


@given(nested(SCALARS, KEYS))
@example(EDGE_VALUES)
def test_every_json_value_matches_the_reference_implementation(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(nested(SCALARS, KEYS))
def test_decoding_and_encoding_again_gives_the_same_bytes(value: Any) -> None:
    data = canonical(value)

    assert canonical(json.loads(data, parse_int=float)) == data


@given(
    nested(
        SCALARS | st.integers() | st.floats() | st.text(st.characters()) | st.sampled_from(NOT_CANONICAL),
        KEYS | st.text(st.characters()) | st.sampled_from(KEYS_NOT_CANONICAL),
    )
)
def test_exactly_the_values_rejected_by_the_reference_are_rejected(value: Any) -> None:
    ours = encoded_or_none(canonical, value, CanonicalError)

    assert ours == encoded_or_none(rfc8785.dumps, value, Exception)


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: (1.5, v), lambda v: {"a": {"b": v}}])
@pytest.mark.parametrize(
    "value", [*NOT_CANONICAL, *UNPRINTABLE, *({key: 1} for key in KEYS_NOT_CANONICAL)], ids=lambda v: type(v).__name__
)
def test_a_value_without_a_canonical_form_is_rejected_at_any_depth(value: Any, wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(CanonicalError):
        canonical(wrap(value))


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "object": lambda inner: {"a": inner},
    "other object": lambda inner: OrderedDict(a=inner),
}


def wrap_repeatedly(value: Any, wrap: Callable[[Any], Any], times: int) -> Any:
    for _ in range(times):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("leaf", [1, 1.5, "é"])
def test_the_maximum_depth_does_not_depend_on_the_value(leaf: Any, wrap: Callable[[Any], Any]) -> None:
    deepest = wrap_repeatedly(leaf, wrap, MAX_DEPTH)

    assert canonical(deepest) == rfc8785.dumps(deepest)
    with pytest.raises(CanonicalError, match="nested more than 254 levels deep"):
        canonical(wrap(deepest))
    with pytest.raises(CanonicalError, match="nested more than 254 levels deep"):
        canonical(wrap_repeatedly(leaf, wrap, 100_000))


def test_a_value_that_contains_itself_is_rejected() -> None:
    items: list[Any] = []
    items += [items, items]
    members: dict[str, Any] = {"share": 0.5}
    members["self"] = members

    for value in (items, members):
        with pytest.raises(CanonicalError):
            canonical(value)


def test_a_value_is_rejected_if_the_stack_is_exhausted() -> None:
    def encode_with_an_exhausted_stack() -> bytes:
        try:
            return encode_with_an_exhausted_stack()
        except RecursionError:
            return canonical(wrap_repeatedly(1.5, lambda inner: [inner], MAX_DEPTH))

    with pytest.raises(CanonicalError):
        encode_with_an_exhausted_stack()
