"""Mutation results of a verifier: one JSON document, and text for people."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from forum_conformance.mutation.scoring import Outcome, Tally
from forum_conformance.results.printable import printable_lines

_STDERR_LINES = 5


@dataclass(slots=True)
class Score:
    """Counts the outcomes, in total and by kind, and keeps the survivors."""

    path: str
    verifier: str
    seed: int
    total: Tally = field(default_factory=Tally)
    kinds: dict[str, Tally] = field(default_factory=dict)
    survivors: list[Outcome] = field(default_factory=list)

    def count(self, outcome: Outcome) -> None:
        self.total.count(outcome)
        self.kinds.setdefault(outcome.mutant.kind, Tally()).count(outcome)
        if outcome.survived:
            self.survivors.append(outcome)


def document_of(score: Score) -> dict[str, Any]:
    return {
        "format": 1,
        "path": score.path,
        "verifier": score.verifier,
        "seed": score.seed,
        **asdict(score.total),
        "kinds": {kind: asdict(tally) for kind, tally in sorted(score.kinds.items())},
        "survivors": [_survivor(outcome, score.seed) for outcome in _in_order(score.survivors)],
    }


def _survivor(outcome: Outcome, seed: int) -> dict[str, Any]:
    mutant = outcome.mutant
    return {
        "kind": mutant.kind,
        "number": mutant.number,
        "seed": seed,
        "change": mutant.description,
        "in_reach": mutant.in_reach,
        "objection": outcome.objection,
        "stderr": outcome.stderr,
    }


def text_of(score: Score) -> str:
    return "".join(f"{line}\n" for line in _lines(score))


def _lines(score: Score) -> Iterator[str]:
    yield f"{score.path}, mutants with seed {score.seed}, verified by {score.verifier}"
    width = max((len(kind) for kind in score.kinds), default=0)
    for kind, tally in sorted(score.kinds.items()):
        yield f"  {kind:<{width}}  {_caught_text(tally)}"
    for outcome in _in_order(score.survivors):
        mutant = outcome.mutant
        yield f"survived: {mutant.kind} {mutant.number}, {mutant.description}: {outcome.objection}"
        yield from (f"  stderr    {line}" for line in printable_lines(outcome.stderr)[-_STDERR_LINES:])
    if score.survivors:
        command = f"forum-conformance mutate {shlex.quote(score.path)} --seed {score.seed}"
        yield f"to create one again: {command} --kinds KIND --each NUMBER --keep DIR"
    yield from _total_lines(score.total)


def _in_order(survivors: Sequence[Outcome]) -> list[Outcome]:
    return sorted(survivors, key=lambda outcome: (outcome.mutant.kind, outcome.mutant.number))


def _caught_text(tally: Tally) -> str:
    parts = [f"{tally.caught} of {tally.in_reach} caught"] if tally.in_reach else []
    if tally.out_of_reach:
        parts.append(f"{tally.out_of_reach} out of reach")
    return ", ".join(parts)


def _total_lines(tally: Tally) -> Iterator[str]:
    share = f": {tally.caught} of {tally.in_reach} caught ({_percent(tally)} %)" if tally.in_reach else ""
    yield f"{tally.mutants} mutants{share}"
    if tally.out_of_reach:
        with_checkpoint = f"; with the original's checkpoint, {tally.found_beside} of {tally.shown_beside} caught"
        text = f"{tally.out_of_reach} out of reach of any verifier without a checkpoint (LEDGER-REACH-001)"
        yield text + (with_checkpoint if tally.shown_beside else "")
    if tally.survived:
        yield f"{tally.survived} survived"


def _percent(tally: Tally) -> str:
    """Rounded down, so that 100 means all."""
    return f"{tally.caught * 1000 // tally.in_reach / 10:g}"
