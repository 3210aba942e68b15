"""Values that break naive line readers are stored exactly, or refused without any change on disk."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.aftermath import bodies_in, bytes_in, check_valid, entries_in
from forum_runner.ledger import Body, Durability, EntryError, LedgerWriter, create_ledger

pytestmark = pytest.mark.requirement("LEDGER-WRITE-005")

LARGEST_INTEGER = 2**53 - 1


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def self_referential() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


BODIES = {
    "empty": b"",
    "separators": "a\u2028b\u2029c\u0085d\x0b\x0c\x1c\x1d\x1e".encode(),
    "newlines": b"\r\n\n\r",
    "nul": b"\0" * 513,
    "not_unicode": b"\xff\xfe\xed\xa0\x80",
    "byte_order_mark": b"\xef\xbb\xbf{}",
    "one_block": bytes(range(256)) * 2,
    "two_blocks_of_zeros": bytes(1024),
    "a_tar_header": b"sha256/" + b"0" * 64 + bytes(29) + b"0000644\0",
    "a_megabyte": b"0123456789abcdef" * 65_536,
    "more_than_a_megabyte": b"fedcba9876543210" * 65_536 + b"1",
    "a_line": b'{"v":1}\n',
}
STORED: dict[str, Any] = {
    "separators": "a\u2028b\u2029c\u0085d\x0b\x0c\x1c\x1d\x1e",
    "newlines": "\r\n\n\r",
    "nul": "\0",
    "delete": "\x7f",
    "empty": ["", [], {}, None],
    "an_empty_key": {"": ""},
    "keys_whose_order_depends_on_the_encoding": {"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "1": 4, "\r": 5, "\x80": 6},
    "outside_the_basic_plane": "\U0001f600\U0010ffff",
    "noncharacters": "\ufffe\uffff\ufdd0",
    "largest": [LARGEST_INTEGER, -LARGEST_INTEGER, 0],
    "looks_like_a_number": ["1.5", ",1.5", "[1e5", ":12345678901234567890", "-0", "NaN"],
    "looks_like_json": '"}],"x":[1.0,{"\\u2028',
    "booleans": [True, False],
    "deep": nested(61),
    "long": "x" * 65_000,
    "escapes": '\\u0000\\n"/',
    "mapping_other_than_dict": OrderedDict(b=1, a=2),
}
REFUSED: dict[str, Any] = {
    "float": 1.0,
    "small_float": {"a": [0.1]},
    "large_float": 1e300,
    "not_a_number": math.nan,
    "infinity": [math.inf, -math.inf],
    "above_the_maximum": LARGEST_INTEGER + 1,
    "below_the_minimum": {"a": -LARGEST_INTEGER - 1},
    "huge": 10**400,
    "lone_surrogate": "\ud800",
    "lone_low_surrogate": ["\udc00x"],
    "surrogate_key": {"\ud83d": 1},
    "pair_of_surrogates": "\ud83d\ude00",
    "deep": nested(63),
    "very_deep": nested(100_000),
    "self_referential": self_referential(),
    "too_long": "x" * 66_000,
    "a_megabyte": "x" * 1_048_576,
    "too_long_in_utf8": "\u20ac" * 22_000,
    "number_key": {1: 2},
    "bytes": b"x",
    "set": {1},
    "tuple": (1, 2),
    "object": object(),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[LedgerWriter]:
    with create_ledger(tmp_path / "run", durability=Durability.NONE) as writer:
        yield writer


def seal_and_check(ledger: LedgerWriter) -> Path:
    ledger.seal("passed")
    check_valid(ledger.directory)
    return ledger.directory


@pytest.mark.parametrize("is_sensitive", [False, True], ids=["plain", "salted"])
def test_any_bytes_are_a_valid_body(ledger: LedgerWriter, is_sensitive: bool) -> None:
    seq = ledger.append(
        "x-bodies", bodies={name: Body(data, is_sensitive=is_sensitive) for name, data in BODIES.items()}
    )

    directory = seal_and_check(ledger)

    stored = bodies_in(directory)
    assert {name: stored[body["digest"]] for name, body in entries_in(directory)[seq]["bodies"].items()} == BODIES


@pytest.mark.parametrize("value", STORED.values(), ids=STORED)
def test_a_valid_value_round_trips(ledger: LedgerWriter, value: Any) -> None:
    seq = ledger.append("x-value", {"value": value})

    assert entries_in(seal_and_check(ledger))[seq]["data"] == {"value": value}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_an_invalid_value_is_refused_and_changes_no_file(ledger: LedgerWriter, value: Any) -> None:
    ledger.append("x-before", bodies={"body": Body(b"before")})
    before = bytes_in(ledger.directory)

    with pytest.raises(EntryError):
        ledger.append("x-value", {"value": value}, bodies={"body": Body(b"unseen")})
    assert bytes_in(ledger.directory) == before

    ledger.append("x-after", bodies={"body": Body(b"unseen")})
    assert [entry["kind"] for entry in entries_in(seal_and_check(ledger))] == [
        "run.opened",
        "x-before",
        "x-after",
        "run.sealed",
    ]


@pytest.mark.parametrize("value", [1.0, math.nan, True, "0", LARGEST_INTEGER + 1, -1, None, "\ud800"])
def test_a_value_in_a_known_kind_must_match_its_schema_and_the_line_rules(ledger: LedgerWriter, value: Any) -> None:
    before = bytes_in(ledger.directory)

    with pytest.raises(EntryError):
        ledger.append("wave.opened", {"wave": value})

    assert bytes_in(ledger.directory) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "x-\u2028"},
        {"kind": "x-a\n"},
        {"kind": "\ud800"},
        {"kind": "no.such"},
        {"actor": "person:a\u2028"},
        {"actor": "person:\ud800"},
        {"actor": "runner\n"},
        {"causes": [True]},
        {"causes": [0, True]},
        {"causes": [1.0]},
        {"causes": [-1]},
        {"causes": [9]},
        {"causes": ["0"]},
        {"data": [1]},
        {"data": "text"},
        {"bodies": {"Name": Body(b"")}},
        {"bodies": {"a\n": Body(b"")}},
        {"bodies": {"\ud800": Body(b"")}},
        {"bodies": {"a": Body(b"", "text/\u2028")}},
        {"bodies": {"a": Body(b"", "\ud800")}},
        {"bodies": {f"a{number}": Body(b"") for number in range(101)}},
    ],
    ids=str,
)
def test_an_invalid_entry_is_refused_and_changes_no_file(ledger: LedgerWriter, fields: dict[str, Any]) -> None:
    for _ in range(3):
        ledger.append("x-earlier")
    before = bytes_in(ledger.directory)

    with pytest.raises(EntryError):
        ledger.append(**{"kind": "x-a", **fields})

    assert bytes_in(ledger.directory) == before
    seal_and_check(ledger)


@pytest.mark.requirement("LEDGER-LINE-001")
def test_only_a_line_feed_ends_a_line(ledger: LedgerWriter) -> None:
    ledger.append("x-value", {"text": STORED["separators"], "\u2028": "\u0085"})

    directory = seal_and_check(ledger)

    data = (directory / "ledger.jsonl").read_bytes()
    assert data.count(b"\n") == 3
    assert "\u2028".encode() in data
    assert all(json.loads(line) for line in data.split(b"\n")[:-1])
