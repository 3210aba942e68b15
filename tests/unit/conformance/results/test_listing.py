"""The list of vectors, as text and as JSON."""

import json

from forum_conformance.results.listing import listing_json, listing_text
from forum_conformance.suite.case import parse_case
from suites.tiny_set import canonicalize_case, verify_case

CASES = [
    parse_case(canonicalize_case("canonical/a"), {}),
    parse_case(verify_case("ledger/torn", {"L501": None}, level=5, requirements=["LEDGER-A-001", "LEDGER-B-001"]), {}),
]


def test_columns_are_aligned_without_trailing_blanks() -> None:
    assert listing_text(CASES, None, has_heading=False) == (
        "canonical/a  canonicalize  -  valid       LEDGER-LINE-005\n"
        "ledger/torn  verify        5  incomplete  LEDGER-A-001 LEDGER-B-001\n"
    )


def test_a_heading_is_as_wide_as_its_column() -> None:
    heading, first, _ = listing_text(CASES, None, has_heading=True).splitlines()

    assert heading == "id           role          level  verdict     requirements"
    assert first == "canonical/a  canonicalize  -      valid       LEDGER-LINE-005"


def test_the_verdict_is_for_the_requested_levels() -> None:
    documents = [json.loads(line) for line in listing_json(CASES, frozenset({1})).splitlines()]

    assert listing_text(CASES[1:], frozenset({1}), has_heading=False).split()[:4] == [
        "ledger/torn",
        "verify",
        "5",
        "valid",
    ]
    assert [document["expected"]["verdict"] for document in documents] == ["valid", "valid"]


def test_each_line_of_json_is_a_vector() -> None:
    first, second = (json.loads(line) for line in listing_json(CASES, None).splitlines())

    assert first == {
        "format": 1,
        "id": "canonical/a",
        "title": "The title of canonical/a.",
        "role": "canonicalize",
        "level": None,
        "requirements": ["LEDGER-LINE-005"],
        "expected": {"verdict": "valid", "codes": []},
    }
    assert (second["level"], second["requirements"]) == (5, ["LEDGER-A-001", "LEDGER-B-001"])


def test_an_empty_list_has_no_lines() -> None:
    assert (listing_text([], None, has_heading=False), listing_json([], None)) == ("", "")
