"""The areas of the vectors, and their generators."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from vector_generator.forum_program import ForumProgram
from vector_generator.vector import Vector

PACKAGES: Mapping[str, str] = {
    "canonical": "canonical",
    "manifests": "manifests",
    "compile": "compilation",
    "ledger": "ledgers",
    "proofs": "proofs",
    "runs": "runs",
}
"""Each package has a module `area` with `vectors(forum)`, which is imported when it is needed."""

AREAS = tuple(PACKAGES)


def vectors_of(area: str, forum: ForumProgram) -> list[Vector]:
    make: Callable[[ForumProgram], Iterable[Vector]] = import_module(f"vector_generator.{PACKAGES[area]}.area").vectors
    return list(make(forum))
