"""What a program wrote to `output`, compared with what must stand there."""

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

from forum_conformance.suite.case import Case
from forum_conformance.suite.difference import Difference, byte_difference, line_difference, value_difference

Written: TypeAlias = bytes | Mapping[str, bytes] | None
"""The bytes of a file, the files of a folder by their paths, or nothing."""

_T = TypeVar("_T")
_PARTS_OF_A_RUN = ("wave-plan.json", "ledger.jsonl", "bodies.tar")
_MAX_BYTES = 64 * 1024 * 1024


class NotAFile(Exception):
    """What stands there is neither a file nor a folder of files."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(f"'{place}' is neither a file nor a folder")


def read_written(path: Path) -> Written:
    """Only plain files are opened: a pipe that a program left there would never end."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(mode):
        return _read_file(path, path.name)
    files = (found for found in sorted(path.rglob("*")) if not stat.S_ISDIR(found.lstat().st_mode))
    names = {found.relative_to(path).as_posix(): found for found in files}
    return {name: _read_file(found, name) for name, found in compared_parts(names).items()}


def compared_parts(files: Mapping[str, _T]) -> dict[str, _T]:
    """Of the files of a run directory, those that must be the same in every implementation."""
    return {name: file for name, file in files.items() if name in _PARTS_OF_A_RUN or name.startswith("outputs/")}


def _read_file(path: Path, name: str) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise NotAFile(name)
    with path.open("rb") as stream:
        return stream.read(_MAX_BYTES)


def output_differences(case: Case, expected: Written, came: Written) -> list[Difference]:
    if isinstance(expected, bytes) and isinstance(came, bytes):
        found = _proof_difference(expected, came) if _is_proof(case) else byte_difference("output", expected, came)
        return [found] if found else []
    if isinstance(expected, Mapping) and isinstance(came, Mapping):
        return _run_differences(expected, came)
    return [] if expected is came else [Difference("output", _told(expected), _told(came))]


def _told(written: Written) -> str:
    if written is None:
        return "nothing is written"
    return "a file" if isinstance(written, bytes) else "a folder"


def _is_proof(case: Case) -> bool:
    return case.request.get("action") in ("inclusion", "consistency")


def _proof_difference(expected: bytes, came: bytes) -> Difference | None:
    try:
        return value_difference("output, at ", json.loads(expected), json.loads(came.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return Difference("output", "a JSON document", f"{came[:200].decode('utf-8', 'backslashreplace')} ({error})")


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
        told = ("no such file" if side is None else f"a file of {len(side)} bytes" for side in (expected, came))
        return Difference(name, *told)
    compare = line_difference if name == "ledger.jsonl" else byte_difference
    return compare(name, expected, came) or Difference(name, "as in the vector", "otherwise")
