"""The areas of the vectors, and the packages that generate them."""

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
"""The package of each area. Its module `area` has a function `vectors(forum)` and is imported on demand."""

AREAS = tuple(PACKAGES)


def vectors_of(area: str, forum: ForumProgram) -> list[Vector]:
    generate: Callable[[ForumProgram], Iterable[Vector]] = import_module(
        f"vector_generator.{PACKAGES[area]}.area"
    ).vectors
    return list(generate(forum))
