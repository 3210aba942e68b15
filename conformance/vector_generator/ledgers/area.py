"""The area `ledger`: run directories and bare ledgers that are valid, incomplete or have one fault."""

from collections.abc import Iterator

from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers import (
    bases,
    deterministic,
    level1,
    level1_kinds,
    level1_schema,
    level2,
    level2_noncanonical,
    level3,
    level4_plan,
    level4_schema,
    level4_work,
    level5,
    limits,
    runs,
)
from vector_generator.ledgers.case import Case
from vector_generator.ledgers.row import cases_of
from vector_generator.ledgers.validation import vectors_of
from vector_generator.vector import Vector

AREA = "ledger"


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of(AREA, [*cases(), *deterministic.cases(forum)], forum)


def cases() -> Iterator[Case]:
    """All handwritten cases, valid ones first."""
    all_bases = [*bases.bases(), *limits.bases(), *runs.bases(), *level1_kinds.bases()]
    bases_by_name = {base.name: base for base in all_bases}
    yield from (base.case() for base in bases_by_name.values())
    for level in (level1, level1_schema, level1_kinds, level2, level2_noncanonical, level3):
        yield from level.cases(bases_by_name)
    yield from cases_of((*level4_plan.ROWS, *level4_work.ROWS, *level4_schema.rows()), bases_by_name)
    yield from level5.cases(bases_by_name)
