"""The suite's self-check detects a suite that does not work."""

import pytest

from forum_conformance import cli
from forum_conformance.suite import self_check
from forum_conformance.suite.self_check import KNOWN_PROGRAMS, KnownProgram, is_judged_correctly


def test_each_known_program_with_a_fault_fails_in_one_place() -> None:
    assert [program.place for program in KNOWN_PROGRAMS] == [
        "standard output",
        "exit status",
        "time",
        "standard output",
        "verdict",
        None,
    ]


@pytest.mark.parametrize("place", ["standard output", "verdict", "exit status"])
def test_a_correct_program_instead_of_a_bad_one_is_detected(place: str) -> None:
    correct_program = 'print(\'{"protocol": 1, "verdict": "valid"}\')'

    assert not is_judged_correctly(KnownProgram("bad", correct_program, place))


def test_a_bad_program_instead_of_the_correct_one_is_detected() -> None:
    assert not is_judged_correctly(KnownProgram("right", "", None))


def test_a_failed_self_check_is_reported_as_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_check, "KNOWN_PROGRAMS", (KnownProgram("silent", "", "verdict"),))

    code = cli.main(["smoke", "--entrypoint", "true"])

    assert code == 70
    assert "HarnessProblem" in (error := capsys.readouterr().err)
    assert "the known program 'silent' does not fail at 'verdict'" in error
