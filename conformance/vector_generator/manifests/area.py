"""The area `manifests`: valid bundles, and edits that produce each code of a compiler."""

from collections.abc import Iterator

from vector_generator.bundle_vectors import vectors_of
from vector_generator.forum_program import ForumProgram
from vector_generator.manifests import documents, plans, reading, rules
from vector_generator.manifests.valid_bundles import VALID_BUNDLES
from vector_generator.vector import Vector

EDITS = (
    *reading.EDITS,
    *documents.EDITS,
    *plans.EDITS,
    *rules.EDITS,
)


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of("manifests", VALID_BUNDLES, EDITS, forum)
