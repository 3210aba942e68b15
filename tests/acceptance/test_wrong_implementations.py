"""The judge passes every vector of its roles; a wrong implementation fails exactly the vectors recorded for it."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from suites.schema_cache import command_with_cache
from wrong.detection import (
    CAUGHT_FILE,
    FOLDER,
    NEVER_ANSWER,
    WrongImplementation,
    cases_of,
    detecting_vectors,
    failed_ids,
    table,
    wrong_implementations,
)

ROLES = ("canonicalize", "prove", "verify")
WRONG = {wrong.name: wrong for wrong in wrong_implementations()}
RECORDED: dict[str, Any] = json.loads(CAUGHT_FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class CachedImplementation(WrongImplementation):
    """A wrong implementation that caches schema results: hundreds of vectors share most of their entries."""

    cache: Path

    @property
    def command(self) -> tuple[str, ...]:
        return command_with_cache(self.cache, str(FOLDER / f"{self.name}.py"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_the_judge_passes_every_vector_of_its_roles() -> None:
    assert failed_ids((sys.executable, "-m", "forum_conformance.program"), cases_of(ROLES)) == []


def test_the_judge_refuses_the_other_roles() -> None:
    result = subprocess.run([sys.executable, "-m", "forum_conformance.program", "run"], input=b"{}", check=False)

    assert result.returncode == 33


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_implementation_fails_exactly_the_recorded_vectors(name: str, cache: Path) -> None:
    wrong = WRONG[name]
    if "verify" in wrong.roles and name not in NEVER_ANSWER:
        wrong = CachedImplementation(wrong.name, wrong.fault, wrong.breaks, wrong.roles, cache)

    assert detecting_vectors(wrong) == RECORDED[name]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=lambda wrong: wrong.name)
def test_a_failed_vector_names_the_broken_requirement(wrong: WrongImplementation) -> None:
    requirements = {case.id: case.requirements for case in cases_of(wrong.roles)}

    if wrong.name in NEVER_ANSWER:
        assert (wrong.breaks, RECORDED[wrong.name]) == ("the protocol", {"all": sorted(ROLES)})
    else:
        assert wrong.breaks in {name for id_ in RECORDED[wrong.name] for name in requirements[id_]}


def test_every_wrong_implementation_is_recorded_and_listed_in_the_readme() -> None:
    assert sorted(RECORDED) == sorted(WRONG)
    assert table() in (FOLDER / "README.md").read_text(encoding="utf-8")
