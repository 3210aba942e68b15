"""The answer that a vector expects for the requested levels."""

from collections.abc import Mapping
from typing import Any

from forum_conformance.finding import INCOMPLETE_CODES
from forum_conformance.suite.case import Case
from forum_conformance.suite.request import ALWAYS, levels_of

LEVELS = ("1", "2", "3", "4", "5")


def expected_answer(case: Case, levels: frozenset[int] | None) -> dict[str, Any]:
    """The compared members of the answer; `levels` only if the program reports them."""
    if case.role == "verify":
        return _of_verify(case.expected["levels"], _asked(case, levels))
    expected = case.expected
    answer = {"verdict": expected["verdict"], "codes": expected.get("codes", [])}
    if case.role == "compile":
        answer["warnings"] = expected.get("warnings", [])
    return answer | {name: expected[name] for name in ("first_bad_seq", "status") if name in expected}


def _asked(case: Case, levels: frozenset[int] | None) -> frozenset[int]:
    if levels is not None:
        return levels_of(case, levels)
    return ALWAYS | frozenset(case.request.get("levels", range(1, 6)))


def _of_verify(levels: Mapping[str, Mapping[str, Any]], asked: frozenset[int]) -> dict[str, Any]:
    requested_levels = [levels[number] for number in LEVELS if int(number) in asked]
    codes = sorted({code for level in requested_levels for code in level.get("codes", [])})
    seqs = [level["first_bad_seq"] for level in requested_levels if level.get("first_bad_seq") is not None]
    statuses = {number: levels[number]["status"] if int(number) in asked else "not checked" for number in LEVELS}
    return {
        "verdict": verdict_of(codes),
        "codes": codes,
        "first_bad_seq": min(seqs, default=None),
        "levels": statuses,
    }


def verdict_of(codes: list[str]) -> str:
    """LEDGER-VERIFY-003."""
    if set(codes) - INCOMPLETE_CODES:
        return "invalid"
    return "incomplete" if codes else "valid"
