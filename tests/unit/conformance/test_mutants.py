"""The mutation engine: its mutants differ from the original, are reproducible, and have many kinds."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from forum_conformance.mutation.engine import ANY_VERDICT, CAUGHT_VERDICTS, KINDS, Mutant, mutants
from forum_conformance.mutation.original import Draft, read_original
from ledgers import LEDGERS

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas/v1/entry.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(params=sorted(LEDGERS))
def run_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return LEDGERS[request.param](tmp_path)


def files(directory: Path) -> dict[str, bytes]:
    paths = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def consistent(candidates: Iterator[Mutant]) -> Iterator[Mutant]:
    """Keep the mutants that are well-formed but describe a different run."""
    return (mutant for mutant in candidates if mutant.kind.startswith(("semantic-", "rewrite-")))


def test_every_mutant_differs_from_its_original(run_dir: Path) -> None:
    original = files(run_dir)

    assert [mutant for mutant in mutants(run_dir, seed=1, limit=200) if mutant.files == original] == []


def test_the_same_seed_creates_the_same_mutants(run_dir: Path) -> None:
    assert list(mutants(run_dir, seed=7, limit=100)) == list(mutants(run_dir, seed=7, limit=100))


def test_a_different_seed_creates_different_mutants(tmp_path: Path) -> None:
    run_dir = LEDGERS["escalated"](tmp_path)

    assert list(mutants(run_dir, seed=1, limit=200)) != list(mutants(run_dir, seed=2, limit=200))


def test_the_limit_is_respected(run_dir: Path) -> None:
    assert len(list(mutants(run_dir, seed=1, limit=100))) == 100


def test_every_kind_has_a_mutant_in_some_example(tmp_path: Path) -> None:
    kinds = {mutant.kind for name, write in LEDGERS.items() for mutant in mutants(write(tmp_path / name), 1, 250)}

    assert kinds == set(KINDS)
    assert len(KINDS) > 150


def test_a_mutant_is_written_unchanged(tmp_path: Path) -> None:
    run_dir = LEDGERS["redacted"](tmp_path / "original")

    for number, mutant in enumerate(mutants(run_dir, seed=3, limit=200)):
        assert files(mutant.apply(tmp_path / str(number))) == mutant.files


def test_only_an_undetectable_mutant_may_be_called_valid(tmp_path: Path) -> None:
    all_mutants = list(mutants(LEDGERS["two_waves"](tmp_path), seed=1, limit=400))

    assert {mutant.verdicts for mutant in all_mutants if mutant.is_detectable} == {CAUGHT_VERDICTS}
    assert {mutant.verdicts for mutant in all_mutants if not mutant.is_detectable} == {ANY_VERDICT}
    assert all(
        mutant.is_detectable
        for mutant in all_mutants
        if not mutant.kind.startswith(("rewrite-", "semantic-truncated-and-sealed"))
    )


def test_a_consistent_mutant_has_a_correct_chain_and_matches_the_schema(run_dir: Path, tmp_path: Path) -> None:
    validator = jsonschema_rs.validator_for(SCHEMA)

    for number, mutant in enumerate(consistent(mutants(run_dir, seed=1, limit=200))):
        rewritten = read_original(mutant.apply(tmp_path / str(number)))

        assert [problem.message for entry in rewritten.entries for problem in validator.iter_errors(entry)] == []
        assert rewritten.rewrite(Draft(rewritten.entries)) == rewritten.files


def test_python_can_read_the_archive_of_a_consistent_mutant(tmp_path: Path) -> None:
    run_dir = LEDGERS["eager_foreach"](tmp_path / "original")

    for number, mutant in enumerate(consistent(mutants(run_dir, seed=1, limit=500))):
        with tarfile.open(mutant.apply(tmp_path / str(number)) / "bodies.tar") as archive:
            assert all(name.startswith("sha256/") for name in archive.getnames())
