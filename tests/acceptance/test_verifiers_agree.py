"""The judge and the runner's verifier agree, on every example ledger and on mutants of each.

FORUM_MUTANTS is the number of mutants of each ledger, FORUM_SEED decides which.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.judge import Given, judge
from forum_conformance.mutation.engine import CAUGHT, Mutant, mutants
from forum_conformance.report import document_of
from forum_runner.api import Trusted
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at
from ledgers import LEDGERS
from suites.remembering import remembering

MUTANTS = int(os.environ.get("FORUM_MUTANTS", "120"))
SEED = int(os.environ.get("FORUM_SEED", "1"))
Said = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A mutant has most entries in common with its original."""
    with remembering(tmp_path_factory.mktemp("memory")):
        yield


def said(document: Said) -> Said:
    """What the specification fixes of a report: everything but its sentences, and the order of its findings."""
    levels = [{key: level[key] for key in ("level", "status", "first_bad_seq")} for level in document["levels"]]
    findings = sorted((item["code"], -1 if item["seq"] is None else item["seq"]) for item in document["findings"])
    fixed = ("verdict", "run", "status", "entries", "head", "root", "redacted", "first_bad_seq", "codes")
    return {**{key: document[key] for key in fixed}, "levels": levels, "findings": findings}


def by_the_judge(run_dir: Path, checkpoint: Path | None = None) -> Said:
    given = Given(checkpoint=checkpoint.read_bytes() if checkpoint else None)
    return said(document_of(judge(run_dir, given=given)))


def by_the_runner(run_dir: Path, checkpoint: Path | None = None) -> Said:
    return said(verify_ledger(ledger_at(run_dir), None, Trusted(checkpoint=checkpoint)).document())


def problems(mutant: Mutant, run_dir: Path, checkpoint: Path) -> list[str]:
    """What is wrong with the verdicts on a mutant: alone and, if out of reach, beside the original's checkpoint."""
    name = f"{mutant.kind} ({mutant.description})"
    found = problems_of(name, by_the_judge(run_dir), by_the_runner(run_dir), mutant.verdicts)
    if not mutant.in_reach:
        beside = f"{name} beside a checkpoint"
        found += problems_of(beside, by_the_judge(run_dir, checkpoint), by_the_runner(run_dir, checkpoint), CAUGHT)
    return found


def problems_of(name: str, judged: Said, verified: Said, verdicts: frozenset[str]) -> list[str]:
    found = [
        f"{name}: {key} is {judged[key]} by the judge, {verified[key]} by the runner"
        for key in judged
        if judged[key] != verified[key]
    ]
    return found if judged["verdict"] in verdicts else [*found, f"{name}: called {judged['verdict']}"]


@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_both_call_every_example_valid(name: str, tmp_path: Path) -> None:
    run_dir = LEDGERS[name](tmp_path)

    judged, verified = by_the_judge(run_dir), by_the_runner(run_dir)

    assert judged == verified
    assert (judged["verdict"], judged["codes"]) == ("valid", [])


@pytest.mark.requirement("LEDGER-REACH-001")
@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_both_say_the_same_of_every_mutant_and_call_none_in_reach_valid(name: str, tmp_path: Path) -> None:
    run_dir = LEDGERS[name](tmp_path / "original")
    seed = SEED * len(LEDGERS) + sorted(LEDGERS).index(name)
    found: list[str] = []

    for mutant in mutants(run_dir, seed, MUTANTS):
        target = mutant.apply(tmp_path / "mutant")
        found += problems(mutant, target, run_dir / "checkpoint")
        shutil.rmtree(target)

    assert found == []


@pytest.mark.requirement("LEDGER-VERIFY-001", "LEDGER-VERIFY-005")
@pytest.mark.parametrize("levels", [{1}, {2}, {3}, {4}, {5}, {1, 2, 5}])
def test_both_say_the_same_of_some_levels(levels: set[int], tmp_path: Path) -> None:
    for name, build in LEDGERS.items():
        run_dir = build(tmp_path / name)

        judged = said(document_of(judge(run_dir, levels=frozenset(levels))))

        assert judged == said(verify_ledger(ledger_at(run_dir), frozenset(levels), Trusted()).document()), name


def test_both_say_the_same_of_a_bare_ledger(tmp_path: Path) -> None:
    for name, build in LEDGERS.items():
        ledger = build(tmp_path / name) / "ledger.jsonl"

        assert by_the_judge(ledger) == by_the_runner(ledger), name
