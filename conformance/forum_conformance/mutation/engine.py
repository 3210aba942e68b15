"""Create mutants of a valid run directory: each has one change.

A verifier must reject every detectable mutant. It may accept an undetectable mutant, but not together with the
checkpoint of the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from random import Random

from forum_conformance.mutation import (
    line_forms,
    other_files,
    raw_bytes,
    rechained,
    rewrites,
    semantic_facts,
    semantic_order,
    semantic_values,
    stored_bodies,
)
from forum_conformance.mutation.change import Change, Mutator
from forum_conformance.mutation.original import Files, Original, read_original

KINDS: dict[str, Mutator] = {
    **raw_bytes.KINDS,
    **line_forms.KINDS,
    **rechained.KINDS,
    **semantic_facts.KINDS,
    **semantic_order.KINDS,
    **semantic_values.KINDS,
    **stored_bodies.KINDS,
    **other_files.KINDS,
    **rewrites.KINDS,
}
CAUGHT_VERDICTS = frozenset({"invalid", "incomplete"})
ANY_VERDICT = CAUGHT_VERDICTS | {"valid"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed run directory. `is_detectable` is as in `Change`."""

    kind: str
    number: int
    """The number within its kind, from 1. Seed, kind and number identify a mutant."""
    description: str
    is_detectable: bool
    files: Files = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.number}"

    @property
    def verdicts(self) -> frozenset[str]:
        """The allowed verdicts of a verifier that sees only the directory."""
        return CAUGHT_VERDICTS if self.is_detectable else ANY_VERDICT

    def apply(self, target_dir: Path) -> Path:
        """Write the mutant's run directory."""
        for name, content in self.files.items():
            path = target_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return target_dir


def mutants(
    run_dir: Path, seed: int, limit: int | None = None, *, kinds: str = "*", per_kind: int | None = None
) -> Iterator[Mutant]:
    """The mutants of a run directory, in turn from each kind: at most `limit` in total and `per_kind` of a kind.

    The seed decides which mutants are created, and their order. `kinds` is a pattern such as `archive-*`.
    """
    original = read_original(run_dir)
    selected = kinds_matching(kinds)
    _random(str(seed)).shuffle(selected)
    sources = [_mutants_of_kind(original, kind, seed, per_kind) for kind in selected]
    return islice(_round_robin(sources), limit)


def kinds_matching(pattern: str) -> list[str]:
    return [kind for kind in sorted(KINDS) if fnmatchcase(kind, pattern)]


def _random(seed: str) -> Random:
    return Random(seed)  # noqa: S311 - mutants must be reproducible, not secret


def _round_robin(sources: list[Iterator[Mutant]]) -> Iterator[Mutant]:
    while sources:
        remaining = []
        for source in sources:
            mutant = next(source, None)
            if mutant is not None:
                yield mutant
                remaining.append(source)
        sources = remaining


def _mutants_of_kind(original: Original, kind: str, seed: int, per_kind: int | None) -> Iterator[Mutant]:
    random = _random(f"{seed} {kind}")
    changes = list(KINDS[kind](original, random))
    random.shuffle(changes)
    return islice(_number_mutants(original, kind, changes), per_kind)


def _number_mutants(original: Original, kind: str, changes: list[Change]) -> Iterator[Mutant]:
    """The mutants of all changes that have an effect."""
    number = 0
    for change in changes:
        files = change.build()
        if files != original.files:
            number += 1
            yield Mutant(kind, number, change.location, change.is_detectable, files)
