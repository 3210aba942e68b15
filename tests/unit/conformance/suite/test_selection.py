"""Selecting vectors, and listing expected failures."""

import pytest

from forum_conformance.suite.case import parse_case
from forum_conformance.suite.expected_failures import BadExpectation, read_expected_failures
from forum_conformance.suite.selection import NothingSelected, select
from suites.tiny_set import case
from unit.conformance.suite.cases import outcome_of

CASES = [
    outcome_of(id_, role, None).case
    for id_, role in (
        ("ledger/cut-tail", "verify"),
        ("ledger/cut", "verify"),
        ("proofs/cut", "prove"),
        ("canonical/numbers", "canonicalize"),
    )
]


def selected_ids(*filters: str, roles: tuple[str, ...] = ()) -> list[str]:
    return [case.id for case in select(CASES, roles, filters)]


def test_without_a_filter_all_vectors_are_selected_in_the_order_of_their_ids() -> None:
    assert selected_ids() == ["canonical/numbers", "ledger/cut", "ledger/cut-tail", "proofs/cut"]


def test_a_filter_matches_part_of_an_id() -> None:
    assert selected_ids("cut") == ["ledger/cut", "ledger/cut-tail", "proofs/cut"]


def test_a_whole_id_selects_only_that_vector() -> None:
    assert selected_ids("ledger/cut") == ["ledger/cut"]


def test_a_pattern_matches_the_whole_id() -> None:
    assert selected_ids("ledger/*") == ["ledger/cut", "ledger/cut-tail"]
    assert selected_ids("*/cut") == ["ledger/cut", "proofs/cut"]


def test_several_filters_are_combined_with_or() -> None:
    assert selected_ids("numbers", "proofs") == ["canonical/numbers", "proofs/cut"]


def test_roles_and_filters_are_combined_with_and() -> None:
    assert selected_ids("cut", roles=("prove",)) == ["proofs/cut"]


@pytest.mark.parametrize(
    ("filters", "roles", "sentence"),
    [
        (("cut", "cat"), (), "the filter 'cat' matches no vector"),
        (
            ("numbers",),
            ("prove",),
            (
                "the filter 'numbers' matches no vector with role prove; it matches 1 vector with role canonicalize, "
                "which --role excludes"
            ),
        ),
        ((), ("run", "prove"), "no vector has the role run"),
    ],
)
def test_a_filter_or_role_that_selects_nothing_is_an_error(
    filters: tuple[str, ...], roles: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(NothingSelected, match=sentence):
        selected_ids(*filters, roles=roles)


CASES_WITH_REQUIREMENTS = [
    parse_case(case(id_, role, {"input": "a"}, {"verdict": "valid"}, requirements=requirements.split()), {})
    for id_, role, requirements in (
        ("ledger/one", "verify", "LEDGER-CHAIN-001"),
        ("ledger/two", "verify", "LEDGER-CHAIN-002 LEDGER-SEAL-001"),
        ("proofs/one", "prove", "LEDGER-PROOF-001"),
    )
]


def select_by_requirement(*requirements: str, roles: tuple[str, ...] = (), filters: tuple[str, ...] = ()) -> list[str]:
    return [case.id for case in select(CASES_WITH_REQUIREMENTS, roles, filters, requirements)]


@pytest.mark.parametrize(
    ("requirements", "ids"),
    [
        (("LEDGER-CHAIN-001",), ["ledger/one"]),
        (("LEDGER-SEAL-001", "LEDGER-PROOF-001"), ["ledger/two", "proofs/one"]),
        (("LEDGER-CHAIN-*",), ["ledger/one", "ledger/two"]),
        (("*-00[2-9]",), ["ledger/two"]),
    ],
)
def test_a_requirement_selects_the_vectors_that_name_it(requirements: tuple[str, ...], ids: list[str]) -> None:
    assert select_by_requirement(*requirements) == ids


def test_requirements_are_combined_with_roles_and_filters() -> None:
    assert select_by_requirement("LEDGER-*-001", roles=("verify",), filters=("two", "one")) == [
        "ledger/one",
        "ledger/two",
    ]
    assert select_by_requirement("LEDGER-*-001", filters=("one",)) == ["ledger/one", "proofs/one"]


@pytest.mark.parametrize(
    ("requirement", "hint"),
    [
        ("LEDGER-CHAIN-01", "; did you mean 'LEDGER-CHAIN-001'?"),
        ("ledger-chain-002", "; did you mean 'LEDGER-CHAIN-002'?"),
        ("LEDGER-CHAIN", "; did you mean 'LEDGER-CHAIN-*'?"),
        ("LEDGER-CHIAN-*", "; did you mean 'LEDGER-CHAIN-*'?"),
        ("CHAIN", ""),
        ("RUN-EXIT-001", "\ndocs/spec/vectors.md lists the requirements without vectors, with reasons"),
        (
            "LEDGER-SEAL-002",
            (
                "; did you mean 'LEDGER-SEAL-001'?\n"
                "docs/spec/vectors.md lists the requirements without vectors, with reasons"
            ),
        ),
    ],
)
def test_a_requirement_that_no_vector_names_is_an_error_with_a_hint(requirement: str, hint: str) -> None:
    with pytest.raises(NothingSelected) as caught:
        select_by_requirement("LEDGER-CHAIN-001", requirement)

    assert str(caught.value) == f"no vector names the requirement '{requirement}'{hint}"


@pytest.mark.parametrize(
    ("roles", "filters", "options"),
    [
        (("verify",), (), "--role"),
        ((), ("two",), "--filter"),
        (("verify",), ("two",), "--role and --filter"),
    ],
)
def test_a_requirement_of_vectors_that_other_options_exclude_is_an_error(
    roles: tuple[str, ...], filters: tuple[str, ...], options: str
) -> None:
    with pytest.raises(NothingSelected) as caught:
        select_by_requirement("LEDGER-PROOF-001", "LEDGER-SEAL-001", roles=roles, filters=filters)

    assert str(caught.value) == (
        f"the requirement 'LEDGER-PROOF-001' matches none of the vectors that {options} selected; "
        "it matches 1 vector with role prove"
    )


def test_an_empty_requirement_is_an_error() -> None:
    with pytest.raises(NothingSelected, match="a requirement is empty; omit --requirement to select all"):
        select_by_requirement("")


def reasons(text: str) -> dict[str, str]:
    return read_expected_failures(text, name="xfail.txt", known_ids={"ledger/cut", "proofs/cut"})


def test_each_expected_failure_has_a_reason() -> None:
    text = "# known failures\n\n  ledger/cut: tails: not looked at\nproofs/cut:no proofs\n  # the end"

    assert reasons(text) == {"ledger/cut": "tails: not looked at", "proofs/cut": "no proofs"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\nledger/cat: reason", "xfail.txt:2: no such vector: 'ledger/cat'"),
        ("ledger/cut:  ", "xfail.txt:1: 'ledger/cut' needs a reason: write 'ledger/cut: why it fails'"),
        ("ledger/cut", "xfail.txt:1: 'ledger/cut' needs a reason: write 'ledger/cut: why it fails'"),
        ("ledger/cut: a\nledger/cut: b", "xfail.txt:2: 'ledger/cut' is listed twice"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(text: str, sentence: str) -> None:
    with pytest.raises(BadExpectation) as caught:
        reasons(text)

    assert str(caught.value) == sentence
