"""The area `compile`: bundles and their wave plans, and errors that a compiler finds after reading all files."""

from collections.abc import Iterator

from vector_generator.bundle_vectors import ValidBundle, folder_files, vectors_of
from vector_generator.compilation.edits import EDITS
from vector_generator.compilation.valid_bundles import VALID_BUNDLES
from vector_generator.forum_program import ForumProgram
from vector_generator.requirements import ROOT
from vector_generator.vector import Vector

EXAMPLES = ROOT / "manifests" / "examples"


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    yield from vectors_of("compile", (*VALID_BUNDLES, *_examples()), EDITS, forum)


def _examples() -> Iterator[ValidBundle]:
    requirements = "COMPILE-PURE-001 COMPILE-WRITE-001 COMPILE-WRITE-002 COMPILE-LAYER-003"
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        title = f"The example '{folder.name}' that ships with forum"
        yield ValidBundle(f"example-{folder.name}", title, requirements, files=folder_files(folder))
