"""A ledger that is verified in two processes gets the report that it gets in one."""

import shutil
from pathlib import Path

import pytest

from forum_conformance.mutation.engine import mutants
from forum_runner.ledger import LedgerSource, Request, find_ledger, verify
from forum_runner.ledger.verification import two_processes
from ledgers import LEDGERS


@pytest.fixture(autouse=True)
def _every_ledger_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_processes, "_is_worth_it", lambda source: source.path is not None)


def quickly(source: LedgerSource, *levels: int) -> object:
    return two_processes.verify_quickly(source, Request(frozenset(levels or (1, 2, 3, 4, 5))))


@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_the_examples_get_the_same_report(name: str, tmp_path: Path) -> None:
    source = find_ledger(str(LEDGERS[name](tmp_path / "run")))

    assert quickly(source) == verify(source)
    assert two_processes._verify_in_two(source, Request(wants_own_checkpoint=False)) is not None


@pytest.mark.parametrize("levels", [(1, 2), (1, 2, 3), (1, 2, 5)])
def test_fewer_levels_get_the_same_report(levels: tuple[int, ...], tmp_path: Path) -> None:
    source = find_ledger(str(LEDGERS["redacted"](tmp_path / "run")))

    assert quickly(source, *levels) == verify(source, Request(frozenset(levels)))


def test_mutants_get_the_same_report(tmp_path: Path) -> None:
    original = LEDGERS["climbing"](tmp_path / "original")
    different = []

    for mutant in mutants(original, seed=5, limit=120):
        source = find_ledger(str(mutant.apply(tmp_path / "mutant")))
        if quickly(source) != verify(source):
            different.append(f"{mutant.kind}: {mutant.description}")
        shutil.rmtree(tmp_path / "mutant")

    assert different == []
