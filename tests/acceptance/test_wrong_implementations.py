"""The judge as a program passes every vector of its roles; a wrong implementation fails exactly where it should."""

import json
import subprocess
import sys
from typing import Any

import pytest

from wrong.catching import (
    FOLDER,
    NEVER_ANSWER,
    RECORD,
    Wrong,
    cases_of,
    caught_by,
    failed,
    table,
    wrong_implementations,
)

ROLES = ("canonicalize", "prove", "verify")
WRONG = {wrong.name: wrong for wrong in wrong_implementations()}
RECORDED: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_judge_passes_every_vector_of_its_roles() -> None:
    assert failed((sys.executable, "-m", "forum_conformance.program"), cases_of(ROLES)) == []


def test_the_judge_does_not_offer_the_other_roles() -> None:
    result = subprocess.run([sys.executable, "-m", "forum_conformance.program", "run"], input=b"{}", check=False)

    assert result.returncode == 33


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_implementation_is_caught_by_exactly_the_vectors_that_are_recorded(name: str) -> None:
    assert caught_by(WRONG[name]) == RECORDED[name]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=lambda wrong: wrong.name)
def test_a_vector_that_catches_it_names_the_requirement_that_it_breaks(wrong: Wrong) -> None:
    requirements = {case.id: case.requirements for case in cases_of(wrong.roles)}

    if wrong.name in NEVER_ANSWER:
        assert (wrong.breaks, RECORDED[wrong.name]) == ("the protocol", {"all": sorted(ROLES)})
    else:
        assert wrong.breaks in {name for id_ in RECORDED[wrong.name] for name in requirements[id_]}


def test_every_wrong_implementation_is_recorded_and_stands_in_the_readme() -> None:
    assert sorted(RECORDED) == sorted(WRONG)
    assert table() in (FOLDER / "README.md").read_text(encoding="utf-8")
