"""The expected answer depends on the requested levels."""

from typing import Any

import pytest

from forum_conformance.suite.expectation import expected_answer
from unit.conformance.suite.cases import ledger, make_case

ALL_OK = dict.fromkeys("12345", "ok")


def test_the_expected_answer_for_all_levels() -> None:
    assert expected_answer(ledger({"L301": 4, "L405": 2, "L501": None}), None) == {
        "verdict": "invalid",
        "codes": ["L301", "L405", "L501"],
        "first_bad_seq": 2,
        "levels": {"1": "ok", "2": "ok", "3": "fail", "4": "fail", "5": "fail"},
    }


@pytest.mark.requirement("LEDGER-VERIFY-003")
@pytest.mark.parametrize(
    ("levels", "verdict", "codes", "first"),
    [
        ({1, 2}, "valid", [], None),
        ({3}, "invalid", ["L301"], 4),
        ({4}, "invalid", ["L405"], 2),
        ({5}, "incomplete", ["L501"], None),
        ({3, 4, 5}, "invalid", ["L301", "L405", "L501"], 2),
    ],
)
def test_the_expected_answer_for_some_levels(
    levels: set[int], verdict: str, codes: list[str], first: int | None
) -> None:
    answer = expected_answer(ledger({"L301": 4, "L405": 2, "L501": None}), frozenset(levels))

    assert (answer["verdict"], answer["codes"], answer["first_bad_seq"]) == (verdict, codes, first)


def test_a_level_that_is_not_requested_is_not_checked() -> None:
    assert expected_answer(ledger(), frozenset({4}))["levels"] == ALL_OK | {"3": "not checked", "5": "not checked"}


def test_the_levels_of_a_vector_apply_without_a_request() -> None:
    assert expected_answer(ledger({"L301": 4}, levels=[1, 2]), None)["verdict"] == "valid"


@pytest.mark.parametrize(
    ("role", "expected", "answer"),
    [
        ("canonicalize", {"verdict": "invalid"}, {"verdict": "invalid", "codes": []}),
        ("compile", {"verdict": "valid", "output": "o"}, {"verdict": "valid", "codes": [], "warnings": []}),
        (
            "compile",
            {"verdict": "invalid", "codes": ["F012"], "warnings": ["F031"]},
            {"verdict": "invalid", "codes": ["F012"], "warnings": ["F031"]},
        ),
        ("run", {"verdict": "valid", "status": "paused"}, {"verdict": "valid", "codes": [], "status": "paused"}),
    ],
)
def test_the_expected_answer_for_other_roles(role: str, expected: dict[str, Any], answer: dict[str, Any]) -> None:
    assert expected_answer(make_case(role, {"input": "input"}, expected), frozenset({1})) == answer
