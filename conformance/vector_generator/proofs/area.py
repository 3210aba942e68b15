"""The area `proofs`: checkpoints of a ledger, and proofs to create and to check."""

from collections.abc import Iterator

from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers.checking import vectors_of
from vector_generator.proofs import check, checkpoints, making
from vector_generator.vector import Vector

AREA = "proofs"


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of(AREA, checkpoints.cases(), forum)
    yield from making.vectors(forum)
    yield from check.vectors(forum)
