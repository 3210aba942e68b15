"""The areas of the set, and what makes the vectors of each."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from vector_generator.forum_program import ForumProgram
from vector_generator.vector import Vector

MODULES: Mapping[str, str] = {
    "canonical": "canonical",
    "manifests": "manifests",
    "compile": "compiling",
    "ledger": "ledgers",
    "proofs": "proofs",
    "runs": "runs",
}
"""Each module has `vectors(forum)`, and is imported when its area is made."""

AREAS = tuple(MODULES)


def vectors_of(area: str, forum: ForumProgram) -> list[Vector]:
    make: Callable[[ForumProgram], Iterable[Vector]] = import_module(f"vector_generator.{MODULES[area]}").vectors
    return list(make(forum))
