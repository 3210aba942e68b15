"""Vectors of the role `compile`: valid bundles, and edits of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from vector_generator.forum_program import Compiled, ForumProgram
from vector_generator.vector import Vector
from vector_generator.wave_plan_laws import breaches
from vector_generator.writing import BadVector

_LONGEST = 160
BUNDLES = Path(__file__).parent / "bundles"
ROOT_FOLDER = "bundle"
INPUTS = "inputs.json"
WAVE_PLAN = "wave-plan.json"
WARNINGS = frozenset({"F106", "F303", "F311", "F315", "F506"})
"""As COMPILE-FIND-002 lists them."""

_PLAN_MADE_SURE = (
    "the schema of wave plans, digests and waves computed anew from the specification (wave_plan_laws.py){facts}"
)
_CODES_MADE_SURE = "the codes are written by hand from the specification, and forum finds the same"


@dataclass(frozen=True, slots=True)
class Sound:
    """A bundle that compiles: a directory of `bundles/<area>`, or files of its own."""

    name: str
    title: str
    requirements: str
    """The ids, with a space between them."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Values that must stand in the wave plan, by JSON Pointer, written by hand."""
    inputs: Mapping[str, Any] | None = None
    entry: str = "workflow.yaml"
    files: Mapping[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a sound bundle."""

    name: str
    title: str
    base: str
    requirements: str
    codes: str
    """Of all findings, with a space between them; an edit that brings only warnings leaves a bundle that compiles."""
    file: str
    old: str | None = None
    """What is replaced, and stands once in the file; None replaces or adds the whole file; empty adds at the end."""
    new: str | bytes | None = None
    """None removes the file."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_the_same_plan: bool = False
    """The wave plan is that of the base, but for the bundle."""


def vectors_of(area: str, sound: Iterable[Sound], edits: Iterable[Edit], forum: ForumProgram) -> Iterator[Vector]:
    bases = {bundle.name: bundle for bundle in sound}
    files = {name: _files(area, bundle) for name, bundle in bases.items()}
    compiled = {name: _compiled(forum, files[name], bundle.entry) for name, bundle in bases.items()}
    for name, bundle in bases.items():
        yield _positive(area, bundle, files[name], compiled[name], bundle.facts)
    for edit in edits:
        vector = _edited(area, edit, bases[edit.base], files[edit.base], forum)
        if edit.is_the_same_plan and _plan_alone(vector.files[WAVE_PLAN]) != _plan_alone(compiled[edit.base].wave_plan):
            raise BadVector(vector.id, f"its wave plan is not that of '{edit.base}'")
        yield vector


def folder_files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _files(area: str, bundle: Sound) -> dict[str, bytes]:
    own = bundle.files if bundle.files is not None else folder_files(BUNDLES / area / bundle.name)
    given = {INPUTS: json.dumps(bundle.inputs).encode() + b"\n"} if bundle.inputs is not None else {}
    return {f"{ROOT_FOLDER}/{name}": data for name, data in own.items()} | given


def _compiled(forum: ForumProgram, files: Mapping[str, bytes], entry: str) -> Compiled:
    return forum.compiled(files, entry, ROOT_FOLDER, INPUTS if INPUTS in files else None)


def _request(files: Mapping[str, bytes], entry: str) -> dict[str, str]:
    given = {"inputs": INPUTS} if INPUTS in files else {}
    return {"input": f"{ROOT_FOLDER}/{entry}", "root": ROOT_FOLDER, **given}


def _positive(
    area: str,
    bundle: Sound,
    files: Mapping[str, bytes],
    compiled: Compiled,
    facts: Mapping[str, Any],
    origin: tuple[str, str] | None = None,
    warnings: tuple[str, ...] = (),
) -> Vector:
    id_ = f"{area}/{bundle.name}"
    if compiled.wave_plan is None or compiled.warnings != warnings:
        raise BadVector(id_, f"forum finds {', '.join((*compiled.codes, *compiled.warnings)) or 'nothing'}")
    own = {name.removeprefix(f"{ROOT_FOLDER}/"): data for name, data in files.items() if name != INPUTS}
    for breach in breaches(compiled.wave_plan, own):
        raise BadVector(id_, f"its wave plan breaks {breach}")
    plan = json.loads(compiled.wave_plan)
    for pointer, value in facts.items():
        if at(plan, pointer) != value:
            raise BadVector(id_, f"at '{pointer}' of its wave plan stands {at(plan, pointer)!r}")
    told = f"; by hand: {', '.join(pointer or 'the whole' for pointer in facts)}" if facts else ""
    return Vector(
        id=id_,
        title=bundle.title,
        role="compile",
        requirements=tuple(bundle.requirements.split()),
        request=_request(files, bundle.entry),
        expected={"verdict": "valid", "output": WAVE_PLAN, **({"warnings": list(warnings)} if warnings else {})},
        made_sure=_PLAN_MADE_SURE.format(facts=told),
        derived_from=origin[0] if origin else None,
        mutation=origin[1] if origin else None,
        files={**files, WAVE_PLAN: compiled.wave_plan},
    )


def _edited(area: str, edit: Edit, base: Sound, before: Mapping[str, bytes], forum: ForumProgram) -> Vector:
    files = _changed(area, edit, before)
    compiled = _compiled(forum, files, base.entry)
    origin = (f"{area}/{base.name}", _told(edit))
    errors = tuple(sorted(set(edit.codes.split()) - WARNINGS))
    warnings = tuple(sorted(set(edit.codes.split()) & WARNINGS))
    if not errors:
        bundle = Sound(edit.name, edit.title, edit.requirements, entry=base.entry)
        return _positive(area, bundle, files, compiled, edit.facts, origin, warnings)
    if (compiled.codes, compiled.warnings) != (errors, warnings):
        found = ", ".join((*compiled.codes, *compiled.warnings)) or "nothing"
        raise BadVector(f"{area}/{edit.name}", f"forum finds {found}, and {edit.codes} is expected")
    return Vector(
        id=f"{area}/{edit.name}",
        title=edit.title,
        role="compile",
        requirements=tuple(edit.requirements.split()),
        request=_request(files, base.entry),
        expected={"verdict": "invalid", "codes": list(errors), **({"warnings": list(warnings)} if warnings else {})},
        made_sure=_CODES_MADE_SURE,
        derived_from=origin[0],
        mutation=origin[1],
        files=files,
    )


def _plan_alone(data: bytes | None) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(data or b"{}")
    return {name: value for name, value in plan.items() if name != "bundle"}


def _changed(area: str, edit: Edit, before: Mapping[str, bytes]) -> dict[str, bytes]:
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
            raise BadVector(f"{area}/{edit.name}", f"'{edit.old}' stands {files[path].count(old)} times in '{path}'")
        files[path] = files[path].replace(old, new)
    return files


def _told(edit: Edit) -> str:
    if edit.new is None:
        return f"'{edit.file}' was removed"
    new = _shown(edit.new)
    if edit.old is None:
        return f"'{edit.file}' became {new}"
    return f"in '{edit.file}', {_shown(edit.old)} became {new}" if edit.old else f"'{edit.file}' got {new}"


def _shown(text: str | bytes) -> str:
    shown = json.dumps(text) if isinstance(text, str) else f'"{text.decode("ascii", "backslashreplace")}"'
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..., {len(text)} in all"


def at(document: Any, pointer: str) -> Any:
    """The value at a JSON Pointer, or None."""
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])
    return reduce(_step, tokens, document)


def _step(value: Any, token: str) -> Any:
    if isinstance(value, list):
        return value[int(token)] if int(token) < len(value) else None
    return value.get(token) if isinstance(value, dict) else None
