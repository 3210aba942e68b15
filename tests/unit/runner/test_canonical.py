"""Canonical JSON as defined by RFC 8785."""

import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.canonical import canonical, digest, join_members
from forum_runner.errors import CanonicalError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_output_matches_the_reference_implementation(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(st.text("abcXYZ_09", min_size=1), JSON, min_size=1))
def test_members_can_be_encoded_separately_and_joined(value: dict[str, Any]) -> None:
    assert join_members({name: canonical(member) for name, member in value.items()}) == canonical(value)


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, object()]
)
def test_a_value_without_a_canonical_form_is_rejected(value: Any) -> None:
    with pytest.raises(CanonicalError):
        canonical(value)


def test_very_deep_nesting_is_rejected() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(CanonicalError):
        canonical(value)


def test_keys_beyond_the_bmp_are_sorted_by_utf_16() -> None:
    assert canonical({"\ue000": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ue000":1}'.encode()


def test_the_smallest_normal_numbers_match_the_reference_implementation() -> None:
    numbers = [struct.unpack(">d", struct.pack(">Q", 0x0010000000000000 + i))[0] for i in range(2000)]

    assert canonical(numbers) == rfc8785.dumps(numbers)
    assert canonical(numbers[:1]) == b"[2.2250738585072014e-308]"


def test_a_digest_is_lower_case_hexadecimal_sha_256() -> None:
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
