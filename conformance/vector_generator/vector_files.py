"""Vectors as directories: validation, the bytes of each file, and the manifest of the set."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import rfc8785

from forum_conformance.suite.case import is_negative as is_negative_case
from vector_generator.requirements import ROOT, requirements
from vector_generator.vector import Vector

VECTORS = ROOT / "conformance" / "vectors" / "v1"
MANIFEST = "MANIFEST.json"
CASE = "case.json"

_ID = re.compile(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*")
# Names that every file system preserves: Windows and macOS allow fewer characters and ignore case.
_FILE = re.compile(r"[A-Za-z0-9_.#+-]+(/[A-Za-z0-9_.#+-]+)*")
# The members of a request that name a file or a directory of the vector.
_PATHS = ("input", "root", "inputs", "checkpoint", "key", "pin", "script", "base", "cache", "before")


class BadVector(Exception):
    """An invalid vector."""

    def __init__(self, vector: str, problem: str) -> None:
        super().__init__(f"vector '{vector}': {problem}")


def is_negative(case: Mapping[str, Any]) -> bool:
    """Whether a case is negative, as defined in vectors/README.md."""
    return is_negative_case(case["role"], case["request"], case["expected"])


def case_document(vector: Vector) -> dict[str, Any]:
    """The content of `case.json`, without empty members."""
    case = {
        "id": vector.id,
        "title": vector.title,
        "role": vector.role,
        "requirements": sorted(set(vector.requirements)),
        "level": vector.level,
        "derived_from": vector.derived_from,
        "mutation": vector.mutation,
        "request": dict(sorted(vector.request.items())),
        "expected": dict(sorted(vector.expected.items())),
        "verified_by": vector.verified_by,
    }
    return {name: value for name, value in case.items() if value is not None}


def files_of(vectors: Iterable[Vector]) -> dict[str, bytes]:
    """The files of the vectors, by path: `case.json` and the vector's other files."""
    files: dict[str, bytes] = {}
    for vector in vectors:
        text = json.dumps(case_document(vector), indent=2, ensure_ascii=False) + "\n"
        files[f"{vector.id}/{CASE}"] = text.encode()
        files |= {f"{vector.id}/{name}": data for name, data in vector.files.items()}
    return files


def check_vectors(area: str, vectors: Iterable[Vector], other_cases: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise BadVector for the first invalid vector. `other_cases` are the cases of the other areas."""
    cases = dict(other_cases)
    vectors = list(vectors)
    for vector in vectors:
        if vector.id in cases:
            raise BadVector(vector.id, "two vectors have this id")
        cases[vector.id] = case_document(vector)
    specified = {id_ for ids in requirements().values() for id_ in ids}
    for vector in vectors:
        if not _ID.fullmatch(vector.id) or not vector.id.startswith(f"{area}/"):
            raise BadVector(vector.id, f"the id must have the form '{area}/lower-case-name'")
        _check_requirements(vector, specified)
        _check_origin(vector, cases)
        _check_files(vector)


def _check_requirements(vector: Vector, specified: set[str]) -> None:
    if not vector.requirements:
        raise BadVector(vector.id, "it names no requirement")
    if unknown := sorted(set(vector.requirements) - specified):
        raise BadVector(vector.id, f"docs/spec has no requirement {', '.join(unknown)}")


def _check_origin(vector: Vector, cases: Mapping[str, Mapping[str, Any]]) -> None:
    if (vector.derived_from is None) != (vector.mutation is None):
        raise BadVector(vector.id, "only one of 'derived_from' and 'mutation' is given")
    if vector.derived_from is None:
        if is_negative(cases[vector.id]):
            raise BadVector(vector.id, "a negative vector needs 'derived_from'")
        return
    origin = cases.get(vector.derived_from)
    if origin is None or is_negative(origin):
        raise BadVector(vector.id, f"'{vector.derived_from}' is not a positive vector of the set")


def _check_files(vector: Vector) -> None:
    for name in vector.files:
        if not _FILE.fullmatch(name) or name == CASE or ".." in name.split("/"):
            raise BadVector(vector.id, f"'{name}' is not a valid file name")
    if len({name.lower() for name in vector.files}) < len(vector.files):
        raise BadVector(vector.id, "two file names differ only in case")
    paths = [vector.request[member] for member in _PATHS if member in vector.request]
    # A missing workflow is a valid case.
    paths = paths if vector.role != "compile" else [path for path in paths if path != vector.request["input"]]
    for path in [*paths, *([vector.expected["output"]] if "output" in vector.expected else [])]:
        if not any(name == path or name.startswith(f"{path}/") for name in vector.files):
            raise BadVector(vector.id, f"'{path}' is named, but it is not a file of the vector")


def read_set(folder: Path) -> dict[str, bytes]:
    """Every file of the vectors except the manifest, by path."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    files.pop(MANIFEST, None)
    return files


def read_cases(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """The contents of `case.json`, by id."""
    cases = (json.loads(data) for path, data in files.items() if path.endswith(f"/{CASE}"))
    return {case["id"]: case for case in cases}


def belongs_to_vectors(path: str, files: Mapping[str, bytes]) -> bool:
    """Whether a file is in a vector's directory. The generator does not touch other files, such as a README."""
    area, _, rest = path.partition("/")
    return f"{area}/{rest.partition('/')[0]}/{CASE}" in files


def manifest_of(files: Mapping[str, bytes]) -> bytes:
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    return rfc8785.dumps({"format": 1, "files": digests}) + b"\n"


def write_set(folder: Path, files: Mapping[str, bytes], areas: Collection[str]) -> None:
    """Write these files, remove all other files of these areas, and write the manifest."""
    existing = read_set(folder)
    for path in existing.keys() - files.keys():
        if path.split("/")[0] in areas:
            (folder / path).unlink()
    for path, data in files.items():
        is_generated = path.split("/")[0] in areas
        if path not in existing or (is_generated and existing[path] != data):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    for directory in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        if directory.relative_to(folder).parts[0] in areas and not any(directory.iterdir()):
            directory.rmdir()
    (folder / MANIFEST).write_bytes(manifest_of(read_set(folder)))
