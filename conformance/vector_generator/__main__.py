"""`python -m vector_generator`: generate the vectors, then write them or compare them with the existing files."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vector_generator import vectors_page
from vector_generator.areas import AREAS, vectors_of
from vector_generator.forum_program import ForumFailed, ForumProgram
from vector_generator.vector_files import (
    MANIFEST,
    VECTORS,
    BadVector,
    belongs_to_vectors,
    check_vectors,
    files_of,
    manifest_of,
    read_cases,
    read_set,
    write_set,
)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    try:
        files = generate(arguments.areas, read_set(VECTORS))
    except (BadVector, ForumFailed) as error:
        sys.stderr.write(f"vector_generator: {error}\n")
        return 1
    if arguments.check:
        return _compare(arguments.out, files)
    write_set(arguments.out, files, arguments.areas)
    if arguments.out == VECTORS:
        vectors_page.write()
    return 0


def generate(areas: Sequence[str], existing: dict[str, bytes]) -> dict[str, bytes]:
    """The files of all vectors: those of `areas` are generated, the others are taken from `existing`."""
    files = {path: data for path, data in existing.items() if not _is_generated(path, areas, existing)}
    with ForumProgram() as forum:
        for area in areas:
            vectors = vectors_of(area, forum)
            check_vectors(area, vectors, read_cases(files))
            files |= files_of(vectors)
    return dict(sorted(files.items()))


def _is_generated(path: str, areas: Sequence[str], existing: dict[str, bytes]) -> bool:
    return path.split("/")[0] in areas and belongs_to_vectors(path, existing)


def _compare(folder: Path, files: dict[str, bytes]) -> int:
    existing = read_set(folder)
    different = [f"differs: {path}" for path in files if path in existing and existing[path] != files[path]]
    missing = [f"missing: {path}" for path in files.keys() - existing.keys()]
    unexpected = [f"unexpected: {path}" for path in existing.keys() - files.keys()]
    manifest = folder / MANIFEST
    if not manifest.is_file() or manifest.read_bytes() != manifest_of(files):
        different.append(f"differs: {MANIFEST}")
    sys.stdout.writelines(f"{line}\n" for line in sorted([*different, *missing, *unexpected]))
    return 1 if different or missing or unexpected else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="vector_generator", description="Generate the vectors of the conformance suite."
    )
    parser.add_argument("areas", metavar="AREA", nargs="*", help=f"one of {', '.join(AREAS)}; default: all")
    parser.add_argument("--out", metavar="DIR", type=Path, default=VECTORS, help="the directory to write or compare")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; report differences from the existing vectors and exit with 1 if there are any",
    )
    arguments = parser.parse_args(argv)
    if unknown := sorted(set(arguments.areas) - set(AREAS)):
        parser.error(f"unknown area '{unknown[0]}'; choose from {', '.join(AREAS)}")
    arguments.areas = arguments.areas or list(AREAS)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
