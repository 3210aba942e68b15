"""Read a program's output and compare it with the expected files."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

from forum_conformance.suite.case import Case
from forum_conformance.suite.difference import Difference, byte_difference, line_difference, value_difference
from forum_conformance.suite.display import preview, why_not_json
from forum_conformance.suite.strict_json import read_json

Output: TypeAlias = bytes | Mapping[str, bytes] | None
"""The bytes of a file, the files of a directory by path, or None if nothing was written."""

_T = TypeVar("_T")
_RUN_FILES = ("wave-plan.json", "ledger.jsonl", "bodies.tar")
_MAX_BYTES = 64 * 1024 * 1024
_MAX_LISTED_FILES = 10


class NotAFile(Exception):
    """The path is neither a file nor a directory of files, or cannot be read."""

    def __init__(self, place: str, error: OSError | None = None) -> None:
        self.place = place
        self.description = f"cannot be read: {error.strerror or error}" if error else "not a regular file"
        predicate = self.description if error else "is neither a file nor a directory"
        super().__init__(f"'{place}' {predicate}")


def read_output(path: Path) -> Output:
    """The output at a path; None if there is none. Raises NotAFile for anything that could block, such as a pipe."""
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            return _read_file(path, path.name, _MAX_BYTES)
        paths = (inner for inner in sorted(path.rglob("*")) if not stat.S_ISDIR(inner.lstat().st_mode))
        files = {inner.relative_to(path).as_posix(): inner for inner in paths}
        return _read_files(compared_files(files))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotAFile(path.name, error) from error


def _read_files(files: Mapping[str, Path]) -> dict[str, bytes]:
    """Read at most `_MAX_BYTES` in total. No vector expects as much, so truncated content always differs."""
    contents: dict[str, bytes] = {}
    remaining = _MAX_BYTES
    for name, path in files.items():
        contents[name] = _read_file(path, name, remaining)
        remaining -= len(contents[name])
    return contents


def compared_files(files: Mapping[str, _T]) -> dict[str, _T]:
    """The files of a run directory that must be identical in every implementation."""
    return {name: file for name, file in files.items() if name in _RUN_FILES or name.startswith("outputs/")}


def _read_file(path: Path, name: str, limit: int) -> bytes:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotAFile(name)
        with path.open("rb") as stream:
            return stream.read(limit)
    except PermissionError as error:
        raise NotAFile(name, error) from error


def output_differences(case: Case, expected: Output, actual: Output) -> list[Difference]:
    if isinstance(expected, bytes) and isinstance(actual, bytes):
        compare = _proof_difference if _is_proof(case) else byte_difference
        difference = compare("output", expected, actual)
        return [difference] if difference else []
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _run_differences(expected, actual)
    return [] if expected is actual else [Difference("output", _describe(expected), _describe(actual))]


def _describe(output: Output) -> str:
    if output is None:
        return "no output"
    return "a file" if isinstance(output, bytes) else "a directory"


def _is_proof(case: Case) -> bool:
    return case.request.get("action") in ("inclusion", "consistency")


def _proof_difference(place: str, expected: bytes, actual: bytes) -> Difference | None:
    try:
        document = read_json(actual)
    except ValueError as error:
        return Difference(place, "a JSON document", f"{preview(actual)} ({why_not_json(error)})")
    return value_difference(f"{place}, at ", read_json(expected), document)


def _run_differences(expected: Mapping[str, bytes], actual: Mapping[str, bytes]) -> list[Difference]:
    """The first file that differs, and the names of other files that do."""
    others = sorted((expected.keys() | actual.keys()) - set(_RUN_FILES))
    names = [*_RUN_FILES, *others]
    differing = [name for name in names if expected.get(name) != actual.get(name)]
    if not differing:
        return []
    first, *more = differing
    differences = [_file_difference(first, expected.get(first), actual.get(first))]
    if more:
        differences.append(
            Difference("other files", "as in the vector", f"{', '.join(more[:_MAX_LISTED_FILES])} also differ")
        )
    return differences


def _file_difference(name: str, expected: bytes | None, actual: bytes | None) -> Difference:
    if expected is None or actual is None:
        sides = ("no such file" if side is None else f"a file of {len(side)} bytes" for side in (expected, actual))
        return Difference(name, *sides)
    compare = line_difference if name == "ledger.jsonl" else byte_difference
    return compare(name, expected, actual) or Difference(name, "as in the vector", "different")
