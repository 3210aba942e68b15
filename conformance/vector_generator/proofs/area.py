"""The area `proofs`: checkpoints of a ledger, and proofs to create and to check."""

from collections.abc import Iterator

from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers.validation import vectors_of
from vector_generator.proofs import check, checkpoints, proof_creation
from vector_generator.vector import Vector

AREA = "proofs"


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of(AREA, checkpoints.cases(), forum)
    yield from proof_creation.vectors(forum)
    yield from check.vectors(forum)
