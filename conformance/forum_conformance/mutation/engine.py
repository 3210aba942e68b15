"""Makes mutants of a valid run directory: each is the directory with one thing wrong.

What a mutant of a kind must not be called is valid, unless it is out of reach: then a verifier may call it valid, but
not beside the checkpoint of the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from forum_conformance.mutation import (
    as_found,
    beside_the_ledger,
    chained_anew,
    line_forms,
    rewrites,
    stored_bodies,
    untrue_facts,
    untrue_order,
    untrue_values,
)
from forum_conformance.mutation.change import Change, Maker
from forum_conformance.mutation.original import Files, Original, read

KINDS: dict[str, Maker] = {
    **as_found.KINDS,
    **line_forms.KINDS,
    **chained_anew.KINDS,
    **untrue_facts.KINDS,
    **untrue_order.KINDS,
    **untrue_values.KINDS,
    **stored_bodies.KINDS,
    **beside_the_ledger.KINDS,
    **rewrites.KINDS,
}
CAUGHT = frozenset({"invalid", "incomplete"})
ANY = CAUGHT | {"valid"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """`verdicts` are those that a verifier may give which knows nothing but the directory."""

    kind: str
    description: str
    in_reach: bool
    files: Files = field(repr=False)

    @property
    def verdicts(self) -> frozenset[str]:
        return CAUGHT if self.in_reach else ANY

    def apply(self, target_dir: Path) -> Path:
        """Writes the mutant's run directory."""
        for name, content in self.files.items():
            path = target_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return target_dir


def mutants(run_dir: Path, seed: int, limit: int) -> Iterator[Mutant]:
    """At most `limit` mutants, one of each kind in turn; the seed decides which kinds and places come first."""
    original = read(run_dir)
    kinds = sorted(KINDS)
    _random(str(seed)).shuffle(kinds)
    waiting = {kind: _places(original, KINDS[kind], _random(f"{seed} {kind}")) for kind in kinds}
    made = 0
    while waiting and made < limit:
        for kind, places in list(waiting.items()):
            mutant = _next(original, kind, places)
            if mutant is None:
                del waiting[kind]
            elif made < limit:
                made += 1
                yield mutant


def _random(seed: str) -> Random:
    return Random(seed)  # noqa: S311 - a mutant has to be made again, not to be kept secret


def _places(original: Original, maker: Maker, random: Random) -> Iterator[Change]:
    changes = list(maker(original, random))
    random.shuffle(changes)
    return iter(changes)


def _next(original: Original, kind: str, places: Iterator[Change]) -> Mutant | None:
    """The next change that changes something."""
    for change in places:
        files = change.make()
        if files != original.files:
            return Mutant(kind, change.place, change.in_reach, files)
    return None
