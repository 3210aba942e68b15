"""Counts of results: by role and, for `verify`, by level."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from forum_conformance.report import LEVELS
from forum_conformance.results.printable import printable
from forum_conformance.suite.case import ROLES
from forum_conformance.suite.request import ALWAYS
from forum_conformance.suite.result import Result, State


@dataclass(frozen=True, slots=True)
class Tally:
    role: str
    level: int | None
    """None for the whole role."""
    counts: Counter[State]
    asked: tuple[int, ...] = ()
    """`verify` only: the requested levels, if not all."""
    is_of_other_levels: bool = False
    """Counts vectors about levels that were not requested: they say little about the requested ones."""

    @property
    def name(self) -> str:
        if self.is_of_other_levels:
            return f"{self.role} other levels"
        if self.level is not None:
            return f"{self.role} level {self.level} {LEVELS[self.level]}"
        return f"{self.role} levels {','.join(map(str, self.asked))}" if self.asked else self.role

    @property
    def is_offered(self) -> bool:
        return self.total > self.counts[State.NOT_OFFERED]

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def failed(self) -> int:
        """Includes unexpected passes."""
        return self.counts[State.FAILED] + self.counts[State.UNEXPECTED_PASS]


def tallies(results: Sequence[Result], levels: frozenset[int] | None) -> Iterator[Tally]:
    """One tally for each role with results, in the order of the protocol, followed by its requested levels."""
    for role in ROLES:
        of_role = [result for result in results if result.case.role == role]
        others = [result.state for result in of_role if is_of_other_levels(result, levels)]
        of_role = [result for result in of_role if not is_of_other_levels(result, levels)]
        if of_role:
            asked = tuple(sorted(ALWAYS | levels)) if role == "verify" and levels is not None else ()
            yield Tally(role, None, Counter(result.state for result in of_role), asked)
        for level in LEVELS if levels is None else sorted(ALWAYS | levels):
            if of_level := [result.state for result in of_role if result.case.level == level]:
                yield Tally(role, level, Counter(of_level))
        if others:
            yield Tally(role, None, Counter(others), is_of_other_levels=True)


def is_of_other_levels(result: Result, levels: frozenset[int] | None) -> bool:
    """Whether it is about a level that was not requested."""
    return levels is not None and result.case.level is not None and result.case.level not in ALWAYS | levels


def objections(results: Sequence[Result], wanted: Collection[str]) -> list[str]:
    """The reasons why the program does not pass; empty if it does. `wanted` are the roles named by options."""
    found = []
    bad = Counter(result.state for result in results if result.state.is_bad)
    abandoned_difference = [result for result in results if result.tried.is_abandoned]
    if failed := bad[State.FAILED] - sum(result.state is State.FAILED for result in abandoned_difference):
        found.append(f"{_vectors(failed)} failed")
    if bad[State.UNSUPPORTED]:
        found.append(f"{_vectors(bad[State.UNSUPPORTED])} unsupported")
    for why in sorted({result.tried.differences[0].came for result in abandoned_difference}):
        counts = Counter(result.case.role for result in abandoned_difference if result.tried.differences[0].came == why)
        counts_text = ", ".join(f"{counts[role]} of {role}" for role in ROLES if counts[role])
        found.append(f"not asked are {counts_text}: {printable(why)}")
    if bad[State.UNEXPECTED_PASS]:
        found.append(f"{_vectors(bad[State.UNEXPECTED_PASS])} passed unexpectedly: remove them from the list")
    missing = [tally.role for tally in tallies(results, None) if tally.level is None and not tally.is_offered]
    if missing and all(result.state is State.NOT_OFFERED for result in results):
        found.append("the program offers none of the requested roles: " + ", ".join(missing))
    else:
        found += [f"the role {role} is not offered" for role in missing if role in wanted]
    return found


def _vectors(count: int) -> str:
    return f"{count} vector{'s' * (count != 1)}"
