"""Counts of results: by role and, for `verify`, by level."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from forum_conformance.report import LEVELS
from forum_conformance.results.printable import printable
from forum_conformance.suite.case import ROLES
from forum_conformance.suite.request import ALWAYS_CHECKED
from forum_conformance.suite.result import Result, State


@dataclass(frozen=True, slots=True)
class Tally:
    role: str
    level: int | None
    """None for the whole role."""
    counts: Counter[State]
    requested_levels: tuple[int, ...] = ()
    """`verify` only: the requested levels, if not all."""
    is_of_other_levels: bool = False
    """Counts vectors that test levels which were not requested: they say little about the requested ones."""

    @property
    def name(self) -> str:
        if self.is_of_other_levels:
            return f"{self.role} other levels"
        if self.level is not None:
            return f"{self.role} level {self.level} {LEVELS[self.level]}"
        return f"{self.role} levels {','.join(map(str, self.requested_levels))}" if self.requested_levels else self.role

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
        role_results = [result for result in results if result.case.role == role]
        others = [result.state for result in role_results if is_of_other_levels(result, levels)]
        counted = [result for result in role_results if not is_of_other_levels(result, levels)]
        if counted:
            requested = tuple(sorted(ALWAYS_CHECKED | levels)) if role == "verify" and levels is not None else ()
            yield Tally(role, None, Counter(result.state for result in counted), requested)
        for level in LEVELS if levels is None else sorted(ALWAYS_CHECKED | levels):
            if states := [result.state for result in counted if result.case.level == level]:
                yield Tally(role, level, Counter(states))
        if others:
            yield Tally(role, None, Counter(others), is_of_other_levels=True)


def is_of_other_levels(result: Result, levels: frozenset[int] | None) -> bool:
    """Whether the vector tests a level that was not requested."""
    return levels is not None and result.case.level is not None and result.case.level not in ALWAYS_CHECKED | levels


def find_objections(results: Sequence[Result], required_roles: Collection[str]) -> list[str]:
    """The reasons why the program does not pass; empty if it passes. `required_roles` must be offered."""
    objections = []
    bad = Counter(result.state for result in results if result.state.is_bad)
    abandoned = [result for result in results if result.outcome.is_abandoned]
    if failed := bad[State.FAILED] - sum(result.state is State.FAILED for result in abandoned):
        objections.append(f"{_vectors(failed)} failed")
    if bad[State.UNSUPPORTED]:
        objections.append(f"{_vectors(bad[State.UNSUPPORTED])} unsupported")
    for reason in sorted({result.outcome.differences[0].actual for result in abandoned}):
        counts = Counter(result.case.role for result in abandoned if result.outcome.differences[0].actual == reason)
        counts_text = ", ".join(f"{_vectors(counts[role])} of {role}" for role in ROLES if counts[role])
        objections.append(f"{counts_text} not run: {printable(reason)}")
    if passed := bad[State.UNEXPECTED_PASS]:
        pronoun = "it" if passed == 1 else "them"
        objections.append(f"{_vectors(passed)} passed unexpectedly: remove {pronoun} from the expected failures")
    missing = [tally.role for tally in tallies(results, None) if tally.level is None and not tally.is_offered]
    if missing and all(result.state is State.NOT_OFFERED for result in results):
        objections.append("the program offers none of the requested roles: " + ", ".join(missing))
    else:
        objections += [f"the role {role} is not offered" for role in missing if role in required_roles]
    return objections


def _vectors(count: int) -> str:
    return f"{count} vector{'s' * (count != 1)}"
