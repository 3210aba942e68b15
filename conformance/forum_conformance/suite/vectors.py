"""Read the vectors: the manifest with the digest of every file, and the cases."""

import hashlib
import stat
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath
from typing import Any

from jsonschema import Draft202012Validator

from forum_conformance.canonical import NotCanonical, read_form, value_depth
from forum_conformance.schemas import schema, schema_mismatch
from forum_conformance.suite.case import PATH_MEMBERS, Case, parse_case
from forum_conformance.suite.display import why_not_json
from forum_conformance.suite.expectation import expected_answer
from forum_conformance.suite.request import own_members, request_for
from forum_conformance.suite.strict_json import read_json

MANIFEST = "MANIFEST.json"
CASE = "case.json"

# A validator needs about ten stack frames for each level of nesting, and Python allows a thousand.
_MAX_DEPTH = 64

_CHECKOUT = Path(__file__).resolve().parents[2] / "vectors" / "v1"


class BrokenVectors(Exception):
    """The vectors are missing or malformed, or differ from the published ones, so they cannot be used."""


def default_folder() -> Path:
    """A checkout has the vectors next to the package, an installation inside it."""
    installed = Path(str(package_files("forum_conformance"))) / "vectors" / "v1"
    return installed if installed.is_dir() else _CHECKOUT


class Vectors:
    """The cases by id, and their files. Each file is checked when it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests = _read_manifest(folder / MANIFEST)
        self.manifest_digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
        self.cases = {case.id: case for case in self._read_cases()}

    def read(self, case: Case, name: str) -> bytes:
        return self._read(f"{case.id}/{name}")

    def size(self, case: Case) -> int:
        """The total size of its files in bytes."""
        return sum((self.folder / case.id / name).stat().st_size for name in case.files)

    def check_all(self) -> int:
        """Check every file of the manifest and return their number."""
        for path in self._digests:
            self._read(path)
        return len(self._digests)

    def _read(self, path: str) -> bytes:
        data = _bytes_of(self.folder / path)
        if hashlib.sha256(data).hexdigest() != self._digests[path]:
            raise BrokenVectors(f"'{self.folder / path}' does not match its digest in {MANIFEST}")
        return data

    def _read_cases(self) -> Iterator[Case]:
        folders: dict[str, dict[str, str]] = {}
        for path, digest in self._digests.items():
            area, _, rest = path.partition("/")
            name, _, file = rest.partition("/")
            folders.setdefault(f"{area}/{name}", {})[file] = digest
        files_by_id = {id_: files for id_, files in sorted(folders.items()) if CASE in files}
        if not files_by_id:
            raise BrokenVectors(f"'{self.folder / MANIFEST}' names no {CASE}")
        for id_, files in files_by_id.items():
            yield self._read_case(id_, files)

    def _read_case(self, id_: str, files: Mapping[str, str]) -> Case:
        path = self.folder / id_ / CASE
        try:
            document = read_json(self._read(f"{id_}/{CASE}"))
        except ValueError as error:
            raise BrokenVectors(f"'{path}' is broken: {why_not_json(error)}") from error
        if value_depth(document) > _MAX_DEPTH:
            raise BrokenVectors(f"'{path}' is broken: it is nested more than {_MAX_DEPTH} levels deep")
        problem = schema_mismatch(_validator("case"), document) or _problem(id_, document, files)
        if problem:
            raise BrokenVectors(f"'{path}' is broken: {problem}")
        return parse_case(document, files)


def _read_manifest(path: Path) -> dict[str, str]:
    if not path.exists():
        raise BrokenVectors(f"'{path.parent}' is not a directory of vectors: it has no {MANIFEST}")
    try:
        manifest = read_form(_bytes_of(path).removesuffix(b"\n"))
    except NotCanonical as error:
        raise BrokenVectors(f"'{path}' is broken: {error}") from error
    digests = manifest.get("files") if isinstance(manifest, dict) and manifest.get("format") == 1 else None
    if not isinstance(digests, dict):
        raise BrokenVectors(f"'{path}' is broken: it is not a manifest of format 1")
    for name in digests:
        if not _stays_inside(name):
            raise BrokenVectors(f"'{path}' is broken: {name!r} is not a path below its directory")
    return digests


def _bytes_of(path: Path) -> bytes:
    """Read regular files only: reading a pipe would block."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise BrokenVectors(f"'{path}' is not a regular file")
        return path.read_bytes()
    except OSError as error:
        raise BrokenVectors(f"cannot read '{path}': {error.strerror or error}") from error


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _problem(id_: str, document: Mapping[str, Any], files: Mapping[str, str]) -> str | None:
    """The first violation of a rule that the schema cannot express; None if there is none."""
    if document["id"] != id_:
        return f"its id is '{document['id']}', but its directory is '{id_}'"
    case = parse_case(document, files)
    output = case.expected.get("output")
    if output is not None and not _has_path(files, output):
        return f"its expected output '{output}' is not one of its files"
    for member in (*PATH_MEMBERS, "before"):
        path = case.request.get(member)
        if path is None:
            continue
        if not isinstance(path, str) or not _stays_inside(path):
            return f"its {member} {path!r} is not a path below its directory"
        # A missing workflow is a valid case.
        if member != "input" and not _has_path(files, path):
            return f"its {member} '{path}' is not one of its files"
    request = request_for(case, own_members(case, None), folder=PurePosixPath("/vector"), output=PurePosixPath("/out"))
    if mismatch := schema_mismatch(_validator("request"), request):
        return f"its request does not match conformance-request.schema.json {mismatch}"

    return _disagreement(case) if case.role == "verify" else None


def _has_path(files: Mapping[str, str], path: str) -> bool:
    return path == "." or any(name == path or name.startswith(f"{path}/") for name in files)


def _disagreement(case: Case) -> str | None:
    """A contradiction in `expected`, if any: verdict, codes and first bad seq follow from the levels."""
    derived = expected_answer(case, None)
    stated = {"codes": [], "first_bad_seq": None, **case.expected}
    wrong = [name for name in ("verdict", "codes", "first_bad_seq") if stated[name] != derived[name]]
    return f"its expected {wrong[0]} does not follow from its levels" if wrong else None


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(f"conformance-{name}.schema.json"))
