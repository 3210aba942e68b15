"""Mutation results of a verifier: one JSON document, and text for people."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from forum_conformance.mutation.scoring import MutantCounts, Outcome
from forum_conformance.results.printable import printable_lines

_STDERR_LINES = 5


@dataclass(slots=True)
class Score:
    """Counts the outcomes, in total and by kind, and keeps the survivors."""

    path: str
    verifier: str
    seed: int
    total: MutantCounts = field(default_factory=MutantCounts)
    kinds: dict[str, MutantCounts] = field(default_factory=dict)
    survivors: list[Outcome] = field(default_factory=list)

    def count(self, outcome: Outcome) -> None:
        self.total.count(outcome)
        self.kinds.setdefault(outcome.mutant.kind, MutantCounts()).count(outcome)
        if outcome.survived:
            self.survivors.append(outcome)


def score_document(score: Score) -> dict[str, Any]:
    return {
        "format": 1,
        "path": score.path,
        "verifier": score.verifier,
        "seed": score.seed,
        **_counts_document(score.total),
        "kinds": {kind: _counts_document(counts) for kind, counts in sorted(score.kinds.items())},
        "survivors": [_survivor(outcome, score.seed) for outcome in _in_order(score.survivors)],
    }


def _counts_document(counts: MutantCounts) -> dict[str, int]:
    return {
        "mutants": counts.mutants,
        "caught": counts.caught,
        "survived": counts.survived,
        "out_of_reach": counts.undetectable,
        "shown_beside": counts.tested_with_checkpoint,
        "found_beside": counts.caught_with_checkpoint,
    }


def _survivor(outcome: Outcome, seed: int) -> dict[str, Any]:
    mutant = outcome.mutant
    return {
        "kind": mutant.kind,
        "number": mutant.number,
        "seed": seed,
        "change": mutant.description,
        "in_reach": mutant.is_detectable,
        "objection": outcome.objection,
        "stderr": outcome.stderr,
    }


def score_text(score: Score) -> str:
    return "".join(f"{line}\n" for line in _lines(score))


def _lines(score: Score) -> Iterator[str]:
    yield f"{score.path}, mutants with seed {score.seed}, verified by {score.verifier}"
    width = max((len(kind) for kind in score.kinds), default=0)
    for kind, counts in sorted(score.kinds.items()):
        yield f"  {kind:<{width}}  {_caught_text(counts)}"
    for outcome in _in_order(score.survivors):
        mutant = outcome.mutant
        yield f"survived: {mutant.kind} #{mutant.number} ({mutant.description}): {outcome.objection}"
        yield from (f"  stderr    {line}" for line in printable_lines(outcome.stderr)[-_STDERR_LINES:])
    if score.survivors:
        command = f"forum-conformance mutate {shlex.quote(score.path)} --seed {score.seed}"
        yield f"to recreate one: {command} --kinds KIND --each NUMBER --keep DIR"
    yield from _total_lines(score.total)


def _in_order(survivors: Sequence[Outcome]) -> list[Outcome]:
    return sorted(survivors, key=lambda outcome: (outcome.mutant.kind, outcome.mutant.number))


def _caught_text(counts: MutantCounts) -> str:
    parts = [f"{counts.caught} of {counts.detectable} caught"] if counts.detectable else []
    if counts.undetectable:
        parts.append(f"{counts.undetectable} undetectable")
    return ", ".join(parts)


def _total_lines(counts: MutantCounts) -> Iterator[str]:
    share = f": {counts.caught} of {counts.detectable} caught ({_percent(counts)}%)" if counts.detectable else ""
    yield f"{counts.mutants} mutant{'s' * (counts.mutants != 1)}{share}"
    if counts.undetectable:
        text = f"{counts.undetectable} undetectable without a checkpoint (LEDGER-REACH-001)"
        if counts.tested_with_checkpoint:
            caught = f"{counts.caught_with_checkpoint} of {counts.tested_with_checkpoint} caught"
            text += f"; with the original's checkpoint, {caught}"
        yield text
    if counts.survived:
        yield f"{counts.survived} survived"


def _percent(counts: MutantCounts) -> str:
    """Rounded down, so that 100 means all."""
    return f"{counts.caught * 1000 // counts.detectable / 10:g}"
