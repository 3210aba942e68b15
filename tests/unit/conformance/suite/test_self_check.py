"""The suite's look at itself would see that it does not work."""

import pytest

from forum_conformance import cli
from forum_conformance.suite import self_check
from forum_conformance.suite.self_check import KNOWN, Known, is_seen_through


def test_what_is_known_to_be_bad_is_bad_in_one_place_each() -> None:
    assert [known.place for known in KNOWN] == [
        "standard output",
        "exit status",
        "time",
        "standard output",
        "verdict",
        None,
    ]


@pytest.mark.parametrize("place", ["standard output", "verdict", "exit status"])
def test_a_right_program_in_the_place_of_a_bad_one_would_be_noticed(place: str) -> None:
    answers_rightly = 'print(\'{"protocol": 1, "verdict": "valid"}\')'

    assert not is_seen_through(Known("bad", answers_rightly, place))


def test_a_bad_program_in_the_place_of_the_right_one_would_be_noticed() -> None:
    assert not is_seen_through(Known("right", "", None))


def test_a_suite_that_does_not_see_is_a_defect_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_check, "KNOWN", (Known("silent", "", "verdict"),))

    code = cli.main(["smoke", "--entrypoint", "true"])

    assert code == 70
    assert "HarnessProblem" in (error := capsys.readouterr().err)
    assert "a program that is known to be silent is not seen through" in error
