"""Level 1, where the quick way and the rules must not part."""

import json
from typing import Any

import pytest

from forum_runner.ledger.entry_schema import entry_validator
from forum_runner.ledger.verification.bytes_level import LineFault, LineReader
from ledgers.raw import lines_of
from ledgers.telling import Telling


def line_with(**changed: Any) -> bytes:
    story = Telling()
    story.tell("x-note", {"text": "a"})
    entry = json.loads(lines_of(story.entries)[-1])
    return json.dumps({**entry, **changed}, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def code_of(line: bytes) -> str | None:
    try:
        LineReader().read(line)
    except LineFault as fault:
        return fault.code
    return None


@pytest.mark.requirement("LEDGER-ENTRY-001")
@pytest.mark.parametrize("member", ["v", "run", "seq", "at", "actor", "kind", "causes", "data", "bodies", "prev"])
@pytest.mark.parametrize("value", [None, True, 5, "text", [], {}, [1], {"a": 1}])
def test_a_member_of_another_type_is_a_finding_and_no_defect(member: str, value: Any) -> None:
    lawful = {("seq", 5), ("causes", "[]"), ("causes", "[1]"), ("data", "{}"), ("data", "{'a': 1}"), ("bodies", "{}")}

    found = code_of(line_with(**{member: value}))

    assert found == (None if (member, value if isinstance(value, int) else str(value)) in lawful else "L105")


def test_kinds_that_nobody_knows_leave_nothing_behind() -> None:
    LineReader()
    before = entry_validator.cache_info().currsize

    codes = {code_of(line_with(kind=f"un.known{letter}")) for letter in "abcdefgh"}

    assert codes == {"L106"}
    assert entry_validator.cache_info().currsize <= before + 1
