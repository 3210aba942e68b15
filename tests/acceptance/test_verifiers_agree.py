"""The judge and the runner's verifier agree on every example ledger and on its mutants.

FORUM_MUTANTS sets the number of mutants per ledger, FORUM_SEED selects them.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.judge import OutsideEvidence, judge
from forum_conformance.mutation.engine import CAUGHT_VERDICTS, Mutant, mutants
from forum_conformance.report import report_document
from forum_runner.api import TrustedReferences
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at
from ledgers import LEDGERS
from suites.schema_cache import cached_schema_results

MUTANTS = int(os.environ.get("FORUM_MUTANTS", "120"))
SEED = int(os.environ.get("FORUM_SEED", "1"))
Report = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def schema_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Cache schema results: a mutant shares most of its entries with its original."""
    with cached_schema_results(tmp_path_factory.mktemp("schema-cache")):
        yield


def normalize(document: Report) -> Report:
    """Return the parts of a report that the specification fixes: all but messages and the order of findings."""
    levels = [{key: level[key] for key in ("level", "status", "first_bad_seq")} for level in document["levels"]]
    findings = sorted((item["code"], -1 if item["seq"] is None else item["seq"]) for item in document["findings"])
    fixed = ("verdict", "run", "status", "entries", "head", "root", "redacted", "first_bad_seq", "codes")
    return {**{key: document[key] for key in fixed}, "levels": levels, "findings": findings}


def judge_report(run_dir: Path, checkpoint: Path | None = None) -> Report:
    evidence = OutsideEvidence(checkpoint=checkpoint.read_bytes() if checkpoint else None)
    return normalize(report_document(judge(run_dir, evidence=evidence)))


def runner_report(run_dir: Path, checkpoint: Path | None = None) -> Report:
    return normalize(verify_ledger(ledger_at(run_dir), None, TrustedReferences(checkpoint=checkpoint)).document())


def find_problems(mutant: Mutant, run_dir: Path, checkpoint: Path) -> list[str]:
    """Find disagreements and wrong verdicts on a mutant: alone and, if undetectable, with the original's checkpoint."""
    name = f"{mutant.kind} ({mutant.description})"
    problems = compare_reports(name, judge_report(run_dir), runner_report(run_dir), mutant.verdicts)
    if not mutant.is_detectable:
        with_checkpoint = f"{name} with a checkpoint"
        problems += compare_reports(
            with_checkpoint, judge_report(run_dir, checkpoint), runner_report(run_dir, checkpoint), CAUGHT_VERDICTS
        )
    return problems


def compare_reports(name: str, judged: Report, verified: Report, verdicts: frozenset[str]) -> list[str]:
    problems = [
        f"{name}: {key} is {judged[key]} by the judge, {verified[key]} by the runner"
        for key in judged
        if judged[key] != verified[key]
    ]
    return problems if judged["verdict"] in verdicts else [*problems, f"{name}: called {judged['verdict']}"]


@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_both_verifiers_accept_every_example(name: str, tmp_path: Path) -> None:
    run_dir = LEDGERS[name](tmp_path)

    judged, verified = judge_report(run_dir), runner_report(run_dir)

    assert judged == verified
    assert (judged["verdict"], judged["codes"]) == ("valid", [])


@pytest.mark.requirement("LEDGER-REACH-001")
@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_both_verifiers_report_the_same_for_every_mutant_and_accept_no_detectable_one(
    name: str, tmp_path: Path
) -> None:
    run_dir = LEDGERS[name](tmp_path / "original")
    seed = SEED * len(LEDGERS) + sorted(LEDGERS).index(name)
    problems: list[str] = []

    for mutant in mutants(run_dir, seed, MUTANTS):
        target = mutant.apply(tmp_path / "mutant")
        problems += find_problems(mutant, target, run_dir / "checkpoint")
        shutil.rmtree(target)

    assert problems == []


@pytest.mark.requirement("LEDGER-VERIFY-001", "LEDGER-VERIFY-005")
@pytest.mark.parametrize("levels", [{1}, {2}, {3}, {4}, {5}, {1, 2, 5}])
def test_both_verifiers_report_the_same_for_a_subset_of_levels(levels: set[int], tmp_path: Path) -> None:
    for name, build in LEDGERS.items():
        run_dir = build(tmp_path / name)

        judged = normalize(report_document(judge(run_dir, levels=frozenset(levels))))

        assert judged == normalize(
            verify_ledger(ledger_at(run_dir), frozenset(levels), TrustedReferences()).document()
        ), name


def test_both_verifiers_report_the_same_for_a_ledger_file(tmp_path: Path) -> None:
    for name, build in LEDGERS.items():
        ledger = build(tmp_path / name) / "ledger.jsonl"

        assert judge_report(ledger) == runner_report(ledger), name
