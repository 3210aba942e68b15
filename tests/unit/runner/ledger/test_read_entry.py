"""Which lines reports accept as entries."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.lines import LongLine
from forum_runner.ledger.read_entry import ReadEntry, get_amount, get_object, get_objects, get_str, read_entry

ENTRY: dict[str, Any] = {
    "run": "r",
    "seq": 3,
    "at": "now",
    "actor": "runner",
    "kind": "x-note",
    "causes": [0, 2],
    "data": {"task": "draft"},
    "bodies": {},
}


def line(**members: Any) -> bytes:
    return json.dumps({**ENTRY, **members}).encode()


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_an_entry_with_extra_members_is_read() -> None:
    entry = read_entry(line(v=7, extra=1))

    assert entry == ReadEntry("r", 3, "now", "runner", "x-note", [0, 2], {"task": "draft"}, {})
    assert entry is not None
    assert entry.task == "draft"


@pytest.mark.parametrize(
    "members",
    [
        {"seq": -1},
        {"seq": True},
        {"seq": 1.5},
        {"seq": 10**30},
        {"seq": None},
        {"causes": None},
        {"causes": ["0"]},
        {"causes": [True]},
        {"run": 1},
        {"at": None},
        {"actor": []},
        {"kind": {}},
        {"data": []},
        {"bodies": None},
        {"data": {"deep": nested(63)}},
    ],
)
def test_a_line_with_a_member_of_the_wrong_type_is_not_an_entry(members: dict[str, Any]) -> None:
    assert read_entry(line(**members)) is None


def test_a_line_nested_to_the_maximum_depth_is_an_entry() -> None:
    assert read_entry(line(data={"deep": nested(62)})) is not None


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_not_an_entry(data: bytes) -> None:
    assert read_entry(data) is None


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b"7", b'"x"', b"{}", b"[" * 100_000, b'{"a":' * 5_000, b"\xef\xbb\xbf" + line()]
)
def test_other_json_values_are_not_an_entry(data: bytes) -> None:
    assert read_entry(data) is None


def test_a_line_too_long_for_memory_is_not_an_entry() -> None:
    assert read_entry(LongLine(line())) is None


def test_values_of_the_wrong_type_are_treated_as_missing() -> None:
    data = {"text": 1, "amount": "2", "negative": -1, "flag": True, "part": [], "parts": [{"a": 1}, 2, {}]}

    assert get_str(data, "text") is None
    assert [get_amount(data, name) for name in ("amount", "negative", "flag", "none")] == [0, 0, 0, 0]
    assert get_object(data, "part") == {}
    assert list(get_objects(data, "parts")) == [{"a": 1}, {}]
    assert list(get_objects(data, "part")) == []
    assert list(get_objects(data, "text")) == []
