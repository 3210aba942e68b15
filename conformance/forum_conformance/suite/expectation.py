"""The answer that a vector expects for the requested levels."""

from collections.abc import Mapping
from typing import Any

from forum_conformance.finding import INCOMPLETE_CODES
from forum_conformance.suite.case import Case
from forum_conformance.suite.request import ALWAYS_CHECKED, requested_levels

LEVELS = ("1", "2", "3", "4", "5")


def expected_answer(case: Case, levels: frozenset[int] | None) -> dict[str, Any]:
    """The members of the answer to compare. `levels` are the requested levels of `verify`; None for all."""
    if case.role == "verify":
        return _expected_verify_answer(case.expected["levels"], _levels_to_check(case, levels))
    expected = case.expected
    answer = {"verdict": expected["verdict"], "codes": expected.get("codes", [])}
    if case.role == "compile":
        answer["warnings"] = expected.get("warnings", [])
    return answer | {name: expected[name] for name in ("first_bad_seq", "status") if name in expected}


def _levels_to_check(case: Case, levels: frozenset[int] | None) -> frozenset[int]:
    if levels is not None:
        return requested_levels(case, levels)
    return ALWAYS_CHECKED | frozenset(case.request.get("levels", range(1, 6)))


def _expected_verify_answer(levels: Mapping[str, Mapping[str, Any]], requested: frozenset[int]) -> dict[str, Any]:
    checked = [levels[number] for number in LEVELS if int(number) in requested]
    codes = sorted({code for level in checked for code in level.get("codes", [])})
    seqs = [level["first_bad_seq"] for level in checked if level.get("first_bad_seq") is not None]
    statuses = {number: levels[number]["status"] if int(number) in requested else "not checked" for number in LEVELS}
    return {
        "verdict": verdict_of(codes),
        "codes": codes,
        "first_bad_seq": min(seqs, default=None),
        "levels": statuses,
    }


def verdict_of(codes: list[str]) -> str:
    """The verdict that follows from the codes (LEDGER-VERIFY-003)."""

    if set(codes) - INCOMPLETE_CODES:
        return "invalid"
    return "incomplete" if codes else "valid"
