"""`python -m vector_generator`: generate the vectors, and write them or compare them with the existing files."""

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
    files_of,
    manifest_of,
    read_cases,
    read_set,
    refuse_bad,
    write_set,
)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    try:
        files = made(arguments.areas, read_set(VECTORS))
    except (BadVector, ForumFailed) as error:
        sys.stderr.write(f"vector_generator: {error}\n")
        return 1
    if arguments.check:
        return _compare(arguments.out, files)
    write_set(arguments.out, files, arguments.areas)
    if arguments.out == VECTORS:
        vectors_page.write()
    return 0


def made(areas: Sequence[str], there: dict[str, bytes]) -> dict[str, bytes]:
    """The files of the set, with these areas regenerated and the others unchanged."""
    files = {path: data for path, data in there.items() if not _is_made(path, areas, there)}
    with ForumProgram() as forum:
        for area in areas:
            vectors = vectors_of(area, forum)
            refuse_bad(area, vectors, read_cases(files))
            files |= files_of(vectors)
    return dict(sorted(files.items()))


def _is_made(path: str, areas: Sequence[str], there: dict[str, bytes]) -> bool:
    return path.split("/")[0] in areas and belongs_to_vectors(path, there)


def _compare(folder: Path, files: dict[str, bytes]) -> int:
    there = read_set(folder)
    differ = [f"differs: {path}" for path in files if path in there and there[path] != files[path]]
    missing = [f"is missing: {path}" for path in files.keys() - there.keys()]
    beyond = [f"is not made: {path}" for path in there.keys() - files.keys()]
    manifest = folder / MANIFEST
    if not manifest.is_file() or manifest.read_bytes() != manifest_of(files):
        differ.append(f"differs: {MANIFEST}")
    sys.stdout.writelines(f"{line}\n" for line in sorted([*differ, *missing, *beyond]))
    return 1 if differ or missing or beyond else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vector_generator", description="Makes the vectors of the suite.")
    parser.add_argument("areas", metavar="AREA", nargs="*", help=f"one of {', '.join(AREAS)}; all if none is given")
    parser.add_argument("--out", metavar="DIR", type=Path, default=VECTORS, help="the directory to write or to compare")
    parser.add_argument(
        "--check", action="store_true", help="report differences from the existing vectors, and exit 1 if there are any"
    )
    arguments = parser.parse_args(argv)
    if unknown := sorted(set(arguments.areas) - set(AREAS)):
        parser.error(f"no area is called '{unknown[0]}'; there are {', '.join(AREAS)}")
    arguments.areas = arguments.areas or list(AREAS)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
