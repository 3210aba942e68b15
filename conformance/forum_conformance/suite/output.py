"""Compare what a program wrote to `output` with the expected files."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

from forum_conformance.suite.case import Case
from forum_conformance.suite.difference import Difference, byte_difference, line_difference, value_difference
from forum_conformance.suite.display import preview, why_not_json
from forum_conformance.suite.strict_json import read_json

Written: TypeAlias = bytes | Mapping[str, bytes] | None
"""The bytes of a file, the files of a directory by path, or nothing."""

_T = TypeVar("_T")
_PARTS_OF_A_RUN = ("wave-plan.json", "ledger.jsonl", "bodies.tar")
_MAX_BYTES = 64 * 1024 * 1024


class NotAFile(Exception):
    """The path is neither a file nor a directory of files, or cannot be read."""

    def __init__(self, place: str, error: OSError | None = None) -> None:
        self.place = place
        self.came = f"cannot be read: {error.strerror or error}" if error else "something else"
        description = self.came if error else "is neither a file nor a directory"
        super().__init__(f"'{place}' {description}")


def read_written(path: Path) -> Written:
    """Open only regular files: reading a pipe would block."""
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            return _read_file(path, path.name, _MAX_BYTES)
        files = (found for found in sorted(path.rglob("*")) if not stat.S_ISDIR(found.lstat().st_mode))
        names = {found.relative_to(path).as_posix(): found for found in files}
        return _read_files(compared_parts(names))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotAFile(path.name, error) from error


def _read_files(files: Mapping[str, Path]) -> dict[str, bytes]:
    """No vector expects as much as the limit, so truncated content always differs."""
    read: dict[str, bytes] = {}
    left = _MAX_BYTES
    for name, path in files.items():
        read[name] = _read_file(path, name, left)
        left -= len(read[name])
    return read


def compared_parts(files: Mapping[str, _T]) -> dict[str, _T]:
    """The files of a run directory that must be identical in every implementation."""
    return {name: file for name, file in files.items() if name in _PARTS_OF_A_RUN or name.startswith("outputs/")}


def _read_file(path: Path, name: str, limit: int) -> bytes:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotAFile(name)
        with path.open("rb") as stream:
            return stream.read(limit)
    except PermissionError as error:
        raise NotAFile(name, error) from error


def output_differences(case: Case, expected: Written, came: Written) -> list[Difference]:
    if isinstance(expected, bytes) and isinstance(came, bytes):
        found = _proof_difference(expected, came) if _is_proof(case) else byte_difference("output", expected, came)
        return [found] if found else []
    if isinstance(expected, Mapping) and isinstance(came, Mapping):
        return _run_differences(expected, came)
    return [] if expected is came else [Difference("output", _describe(expected), _describe(came))]


def _describe(written: Written) -> str:
    if written is None:
        return "nothing is written"
    return "a file" if isinstance(written, bytes) else "a directory"


def _is_proof(case: Case) -> bool:
    return case.request.get("action") in ("inclusion", "consistency")


def _proof_difference(expected: bytes, came: bytes) -> Difference | None:
    try:
        read = read_json(came)
    except ValueError as error:
        return Difference("output", "a JSON document", f"{preview(came)} ({why_not_json(error)})")
    return value_difference("output, at ", read_json(expected), read)


def _run_differences(expected: Mapping[str, bytes], came: Mapping[str, bytes]) -> list[Difference]:
    others = sorted((expected.keys() | came.keys()) - set(_PARTS_OF_A_RUN))
    names = [*_PARTS_OF_A_RUN, *others]
    differing = [name for name in names if expected.get(name) != came.get(name)]
    if not differing:
        return []
    found = [_file_difference(differing[0], expected.get(differing[0]), came.get(differing[0]))]
    if more := differing[1:]:
        found.append(Difference("other files", "as in the vector", f"{', '.join(more[:10])} also differ"))
    return found


def _file_difference(name: str, expected: bytes | None, came: bytes | None) -> Difference:
    if expected is None or came is None:
        description = ("no such file" if side is None else f"a file of {len(side)} bytes" for side in (expected, came))
        return Difference(name, *description)
    compare = line_difference if name == "ledger.jsonl" else byte_difference
    return compare(name, expected, came) or Difference(name, "as in the vector", "different")
