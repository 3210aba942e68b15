"""Vectors of the role `compile`: valid bundles, and edits to them."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import rfc8785

from vector_generator.forum_program import Compiled, ForumProgram
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector
from vector_generator.wave_plan_laws import violations

_MAX_SHOWN = 160
BUNDLES = Path(__file__).parent / "bundles"
ROOT_FOLDER = "bundle"
INPUTS = "inputs.json"
WAVE_PLAN = "wave-plan.json"
WARNINGS = frozenset({"F106", "F303", "F311", "F315", "F506"})
"""The codes of warnings (COMPILE-FIND-002)."""

_PLAN_VERIFIED_BY = (
    "the wave plan matches its schema; its digests and waves are recomputed from the specification (wave_plan_laws.py)"
    "{facts}"
)
_CODES_VERIFIED_BY = "the codes are written by hand from the specification, and `forum` reports the same"


@dataclass(frozen=True, slots=True)
class ValidBundle:
    """A bundle that compiles: the directory of its name in `bundles/<area>`, or `files`."""

    name: str
    title: str
    requirements: str
    """The ids, separated by spaces."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Handwritten values of the wave plan, by JSON Pointer."""
    inputs: Mapping[str, Any] | None = None
    entry: str = "workflow.yaml"
    files: Mapping[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a valid bundle."""

    name: str
    title: str
    base: str
    requirements: str
    codes: str
    """The codes of all findings, separated by spaces. With only warnings, the bundle still compiles."""
    file: str
    old: str | None = None
    """The text to replace, which occurs once in the file. None replaces or adds the whole file; "" appends to it."""
    new: str | bytes | None = None
    """None removes the file."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    keeps_wave_plan: bool = False
    """Whether the wave plan equals the one of the base, except for `bundle`."""


def vectors_of(
    area: str, bundles: Iterable[ValidBundle], edits: Iterable[Edit], forum: ForumProgram
) -> Iterator[Vector]:
    bases = {bundle.name: bundle for bundle in bundles}
    files = {name: _files(area, bundle) for name, bundle in bases.items()}
    compiled = {name: _compile(forum, files[name], bundle.entry) for name, bundle in bases.items()}
    for name, bundle in bases.items():
        yield _valid_vector(area, bundle, files[name], compiled[name], bundle.facts)
    for edit in edits:
        vector = _edited_vector(area, edit, bases[edit.base], files[edit.base], forum)
        if edit.keeps_wave_plan and _without_bundle(vector.files[WAVE_PLAN]) != _without_bundle(
            compiled[edit.base].wave_plan
        ):
            raise BadVector(vector.id, f"the wave plan differs from the one of '{edit.base}'")
        yield vector


def schema_digest(schema: Mapping[str, Any]) -> str:
    """The name of a schema in a wave plan (COMPILE-WRITE-003)."""
    return hashlib.sha256(rfc8785.dumps(dict(schema))).hexdigest()


def folder_files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _files(area: str, bundle: ValidBundle) -> dict[str, bytes]:
    bundle_files = bundle.files if bundle.files is not None else folder_files(BUNDLES / area / bundle.name)
    inputs = {INPUTS: json.dumps(bundle.inputs).encode() + b"\n"} if bundle.inputs is not None else {}
    return {f"{ROOT_FOLDER}/{name}": data for name, data in bundle_files.items()} | inputs


def _compile(forum: ForumProgram, files: Mapping[str, bytes], entry: str) -> Compiled:
    return forum.compile(files, entry, ROOT_FOLDER, INPUTS if INPUTS in files else None)


def _request(files: Mapping[str, bytes], entry: str) -> dict[str, str]:
    inputs = {"inputs": INPUTS} if INPUTS in files else {}
    return {"input": f"{ROOT_FOLDER}/{entry}", "root": ROOT_FOLDER, **inputs}


def _valid_vector(
    area: str,
    bundle: ValidBundle,
    files: Mapping[str, bytes],
    compiled: Compiled,
    facts: Mapping[str, Any],
    origin: tuple[str, str] | None = None,
    warnings: tuple[str, ...] = (),
) -> Vector:
    id_ = f"{area}/{bundle.name}"
    if compiled.wave_plan is None or compiled.warnings != warnings:
        raise BadVector(id_, f"forum reports {', '.join((*compiled.codes, *compiled.warnings)) or 'nothing'}")
    bundle_files = {name.removeprefix(f"{ROOT_FOLDER}/"): data for name, data in files.items() if name != INPUTS}
    for violation in violations(compiled.wave_plan, bundle_files):
        raise BadVector(id_, f"the wave plan violates {violation}")
    plan = json.loads(compiled.wave_plan)
    for pointer, value in facts.items():
        if value_at(plan, pointer) != value:
            raise BadVector(id_, f"the wave plan has {value_at(plan, pointer)!r} at '{pointer}', expected {value!r}")
    checked = f"; checked by hand: {', '.join(pointer or 'the whole plan' for pointer in facts)}" if facts else ""
    return Vector(
        id=id_,
        title=bundle.title,
        role="compile",
        requirements=tuple(bundle.requirements.split()),
        request=_request(files, bundle.entry),
        expected={"verdict": "valid", "output": WAVE_PLAN, **({"warnings": list(warnings)} if warnings else {})},
        verified_by=_PLAN_VERIFIED_BY.format(facts=checked),
        derived_from=origin[0] if origin else None,
        mutation=origin[1] if origin else None,
        files={**files, WAVE_PLAN: compiled.wave_plan},
    )


def _edited_vector(
    area: str, edit: Edit, base: ValidBundle, before: Mapping[str, bytes], forum: ForumProgram
) -> Vector:
    files = _edited_files(area, edit, before)
    compiled = _compile(forum, files, base.entry)
    origin = (f"{area}/{base.name}", _describe(edit))
    errors = tuple(sorted(set(edit.codes.split()) - WARNINGS))
    warnings = tuple(sorted(set(edit.codes.split()) & WARNINGS))
    if not errors:
        bundle = ValidBundle(edit.name, edit.title, edit.requirements, entry=base.entry)
        return _valid_vector(area, bundle, files, compiled, edit.facts, origin, warnings)
    if (compiled.codes, compiled.warnings) != (errors, warnings):
        found = ", ".join((*compiled.codes, *compiled.warnings)) or "nothing"
        raise BadVector(f"{area}/{edit.name}", f"forum reports {found} instead of {edit.codes}")
    return Vector(
        id=f"{area}/{edit.name}",
        title=edit.title,
        role="compile",
        requirements=tuple(edit.requirements.split()),
        request=_request(files, base.entry),
        expected={"verdict": "invalid", "codes": list(errors), **({"warnings": list(warnings)} if warnings else {})},
        verified_by=_CODES_VERIFIED_BY,
        derived_from=origin[0],
        mutation=origin[1],
        files=files,
    )


def _without_bundle(data: bytes | None) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(data or b"{}")
    return {name: value for name, value in plan.items() if name != "bundle"}


def _edited_files(area: str, edit: Edit, before: Mapping[str, bytes]) -> dict[str, bytes]:
    path = edit.file if edit.file == INPUTS else f"{ROOT_FOLDER}/{edit.file}"
    files = dict(before)
    new = edit.new.encode() if isinstance(edit.new, str) else edit.new
    if new is None:
        del files[path]
    elif edit.old is None:
        files[path] = new
    elif edit.old == "":
        files[path] += new
    else:
        old = edit.old.encode()
        if files[path].count(old) != 1:
            raise BadVector(f"{area}/{edit.name}", f"'{edit.old}' occurs {files[path].count(old)} times in '{path}'")
        files[path] = files[path].replace(old, new)
    return files


def _describe(edit: Edit) -> str:
    if edit.new is None:
        return f"'{edit.file}' was removed"
    new = _quote(edit.new)
    if edit.old is None:
        return f"'{edit.file}' was replaced by {new}"
    return (
        f"in '{edit.file}', {_quote(edit.old)} was replaced by {new}"
        if edit.old
        else f"'{edit.file}' was extended by {new}"
    )


def _quote(text: str | bytes) -> str:
    quoted = json.dumps(text) if isinstance(text, str) else f'"{text.decode("ascii", "backslashreplace")}"'
    return quoted if len(quoted) <= _MAX_SHOWN else f"{quoted[:_MAX_SHOWN]}..., {len(text)} characters"


def value_at(document: Any, pointer: str) -> Any:
    """The value at a JSON Pointer, or None."""
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])
    return reduce(_step, tokens, document)


def _step(value: Any, token: str) -> Any:
    if isinstance(value, list):
        return value[int(token)] if int(token) < len(value) else None
    return value.get(token) if isinstance(value, dict) else None
