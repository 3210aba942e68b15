"""The area `ledger`: run directories and bare ledgers that hold, that are not finished, and with one thing wrong."""

from collections.abc import Iterator

from vector_generator import (
    ledgers_bases,
    ledgers_deterministic,
    ledgers_level1,
    ledgers_level2,
    ledgers_level3,
    ledgers_level4_plan,
    ledgers_level4_work,
    ledgers_level5,
    ledgers_runs,
)
from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers_case import Case
from vector_generator.ledgers_checking import vectors_of
from vector_generator.ledgers_row import cases_of
from vector_generator.vector import Vector

AREA = "ledger"


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of(AREA, [*cases(), *ledgers_deterministic.cases(forum)], forum)


def cases() -> Iterator[Case]:
    """All that are written by hand, those that hold first."""
    bases = {base.name: base for base in [*ledgers_bases.bases(), *ledgers_runs.bases()]}
    yield from (base.case() for base in bases.values())
    for level in (ledgers_level1, ledgers_level2, ledgers_level3):
        yield from level.cases(bases)
    yield from cases_of((*ledgers_level4_plan.ROWS, *ledgers_level4_work.ROWS), bases)
    yield from ledgers_level5.cases(bases)
