"""Which vectors are asked, and which are expected to fail."""

import pytest

from forum_conformance.suite.expected_failures import BadExpectation, read_expected_failures
from forum_conformance.suite.selection import NothingSelected, select
from unit.conformance.suite.making import tried

CASES = [
    tried(id_, role, None).case
    for id_, role in (
        ("ledger/cut-tail", "verify"),
        ("ledger/cut", "verify"),
        ("proofs/cut", "prove"),
        ("canonical/numbers", "canonicalize"),
    )
]


def chosen(*filters: str, roles: tuple[str, ...] = ()) -> list[str]:
    return [case.id for case in select(CASES, roles, filters)]


def test_without_a_filter_all_are_taken_in_the_order_of_their_ids() -> None:
    assert chosen() == ["canonical/numbers", "ledger/cut", "ledger/cut-tail", "proofs/cut"]


def test_a_part_of_an_id() -> None:
    assert chosen("cut") == ["ledger/cut", "ledger/cut-tail", "proofs/cut"]


def test_a_whole_id_takes_that_vector_alone() -> None:
    assert chosen("ledger/cut") == ["ledger/cut"]


def test_a_pattern_is_matched_with_the_whole_id() -> None:
    assert chosen("ledger/*") == ["ledger/cut", "ledger/cut-tail"]
    assert chosen("*/cut") == ["ledger/cut", "proofs/cut"]


def test_several_filters_add_up() -> None:
    assert chosen("numbers", "proofs") == ["canonical/numbers", "proofs/cut"]


def test_roles_and_filters_go_together() -> None:
    assert chosen("cut", roles=("prove",)) == ["proofs/cut"]


@pytest.mark.parametrize(
    ("filters", "roles", "sentence"),
    [
        (("cut", "cat"), (), "the filter 'cat' takes no vector"),
        (
            ("numbers",),
            ("prove",),
            "the filter 'numbers' takes no vector of the role prove: it takes 1 of canonicalize",
        ),
        ((), ("run", "prove"), "there is no vector of the role run"),
    ],
)
def test_what_takes_nothing_is_an_error(filters: tuple[str, ...], roles: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(NothingSelected, match=sentence):
        chosen(*filters, roles=roles)


def reasons(text: str) -> dict[str, str]:
    return read_expected_failures(text, name="xfail.txt", known={"ledger/cut", "proofs/cut"})


def test_expected_failures_have_a_reason_each() -> None:
    text = "# what is known\n\n  ledger/cut: tails: not looked at\nproofs/cut:no proofs\n  # the end"

    assert reasons(text) == {"ledger/cut": "tails: not looked at", "proofs/cut": "no proofs"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\nledger/cat: why", "xfail.txt:2: there is no vector 'ledger/cat'"),
        ("ledger/cut:  ", "xfail.txt:1: 'ledger/cut' needs a reason: write 'ledger/cut: why it fails'"),
        ("ledger/cut", "xfail.txt:1: 'ledger/cut' needs a reason: write 'ledger/cut: why it fails'"),
        ("ledger/cut: a\nledger/cut: b", "xfail.txt:2: 'ledger/cut' stands here twice"),
    ],
)
def test_a_line_that_cannot_be_taken_at_its_word_is_named(text: str, sentence: str) -> None:
    with pytest.raises(BadExpectation) as caught:
        reasons(text)

    assert str(caught.value) == sentence
