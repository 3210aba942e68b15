"""Level 1: the rules for single lines, as `check_line` applies them."""

import json
from typing import Any

import pytest

from forum_runner.ledger.entry_schema import entry_validator
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.report import Violation
from ledgers.example_run import ExampleRun


def line_with(**members: Any) -> bytes:
    example = ExampleRun()
    example.add("x-note", {"text": "a"})
    entry = json.loads(example.lines()[-1])
    return json.dumps({**entry, **members}, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def code_of(line: bytes) -> str | None:
    try:
        check_line(line)
    except Violation as violation:
        return violation.code
    return None


@pytest.mark.requirement("LEDGER-ENTRY-001")
@pytest.mark.parametrize("member", ["v", "run", "seq", "at", "actor", "kind", "causes", "data", "bodies", "prev"])
@pytest.mark.parametrize("value", [None, True, 5, "text", [], {}, [1], {"a": 1}])
def test_a_member_of_the_wrong_type_is_a_finding_and_not_a_crash(member: str, value: Any) -> None:
    allowed = {("seq", 5), ("causes", "[]"), ("causes", "[1]"), ("data", "{}"), ("data", "{'a': 1}"), ("bodies", "{}")}

    code = code_of(line_with(**{member: value}))

    assert code == (None if (member, value if isinstance(value, int) else str(value)) in allowed else "L105")


def test_unknown_kinds_do_not_fill_the_validator_cache() -> None:
    before = entry_validator.cache_info().currsize

    codes = {code_of(line_with(kind=f"un.known{letter}")) for letter in "abcdefgh"}

    assert codes == {"L106"}
    assert entry_validator.cache_info().currsize <= before + 1


def line_hiding(text: bytes) -> bytes:
    """Return a line with a duplicate key, so that a parser drops the first value."""
    return b'{"actor":' + text + b"," + line_with()[1:]


@pytest.mark.requirement("LEDGER-LINE-003")
@pytest.mark.requirement("LEDGER-LINE-004")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"[" * 63 + b"]" * 63, "L104"),
        (b"[" * 64 + b"]" * 64, "L102"),
        (b'{"a":' * 63 + b"1" + b"}" * 63, "L104"),
        (b'{"a":' * 64 + b"1" + b"}" * 64, "L102"),
        (b"[" * 980 + b"]" * 980, "L102"),
        (b"[" * 20_000 + b"]" * 20_000, "L102"),
        (b'"' + b"[" * 100 + b'"', "L104"),
        (b'"\\udc00"', "L102"),
        (b'{"\\ud800":1}', "L102"),
        (b'"\\ud83d\\ude00"', "L104"),
        (b"2.5", "L103"),
        (b"9007199254740992", "L103"),
        (b"-0", "L104"),
    ],
)
def test_the_dropped_value_of_a_duplicate_key_is_checked(text: bytes, code: str) -> None:
    assert code_of(line_hiding(text)) == code
