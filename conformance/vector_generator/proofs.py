"""The area `proofs`: checkpoints beside a ledger, and proofs that are to be made and to be checked."""

from collections.abc import Iterator

from vector_generator import proofs_check, proofs_checkpoints, proofs_making
from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers_checking import vectors_of
from vector_generator.vector import Vector

AREA = "proofs"


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of(AREA, proofs_checkpoints.cases(), forum)
    yield from proofs_making.vectors(forum)
    yield from proofs_check.vectors(forum)
