"""RFC 8785 bytes."""

import hashlib
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
def test_it_writes_what_the_reference_writes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(st.text("abcXYZ_09", min_size=1), JSON, min_size=1))
def test_members_can_be_written_apart_and_joined(value: dict[str, Any]) -> None:
    assert join_members({name: canonical(member) for name, member in value.items()}) == canonical(value)


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, object()]
)
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(CanonicalError):
        canonical(value)


def test_nesting_without_end_is_refused() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(CanonicalError):
        canonical(value)


def test_keys_beyond_the_bmp_are_sorted_by_utf_16() -> None:
    assert canonical({"\ue000": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ue000":1}'.encode()


def test_the_numbers_of_the_rfc_are_written_as_it_says() -> None:
    """The first 1,000 lines of the published sequence that follow from its rule, by their published digest."""
    static = (0x0010000000000000 + i for i in range(2000))
    text = canonical([struct.unpack(">d", struct.pack(">Q", bits))[0] for bits in static])

    assert text.startswith(b"[2.2250738585072014e-308,")
    assert digest(b"") == hashlib.sha256(b"").hexdigest()
