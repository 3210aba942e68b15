"""The form that wrong implementations change is RFC 8785 as long as nothing is replaced."""

from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from forum_conformance.program.json_form import Form

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@given(VALUES)
def test_the_unchanged_form_is_rfc_8785(value: Any) -> None:
    assert Form()(value) == rfc8785.dumps(value)
