"""The application's functions: what each command does, without the command line around it.

The only place where concrete things are put together: the disk, the bundle on it, the compiler, the reports.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forum_runner.compile.compiler import Compilation, check_file, compile_workflow
from forum_runner.compile.inputs import COMMAND_LINE
from forum_runner.errors import UsageError
from forum_runner.finding import Finding, Place, in_order
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.files import BUILT_IN, DiskFiles
from forum_runner.manifest.workflow import InputValue
from forum_runner.report import Report


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs from a command line: `texts` are typed by the plan, `file` is a YAML or JSON mapping."""

    texts: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    report: Report
    wave_plan: Mapping[str, Any] | None
    data: bytes | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file that a command was given: the bundle's root, the path from there, the name of the manifest in it."""

    root: Path
    path: str
    name: str | None


def check(paths: Sequence[str], root: Path | None, inputs: Inputs) -> Report:
    """Checks files, each with all that it names; a file without a workflow, manifest by manifest."""
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    given, wrong = _given(inputs)
    for path in paths:
        entry = _entry(path, root)
        result = check_file(Bundle(DiskFiles(entry.root)), entry.path, entry.name, given)
        report = _report(entry.root, result, wrong)
        findings += report.findings
        texts |= report.texts
    return Report(in_order(findings), texts)


def compile_file(path: str, root: Path | None, inputs: Inputs, *, complete: bool = True) -> Compiled:
    """Compiles a workflow; `complete` asks for a value for each of its inputs."""
    entry = _entry(path, root)
    given, wrong = _given(inputs)
    result = compile_workflow(Bundle(DiskFiles(entry.root)), entry.path, entry.name, given, complete=complete)
    report = _report(entry.root, result, wrong)
    if wrong:
        return Compiled(report, None, None)
    return Compiled(report, result.wave_plan, result.data)


def _entry(given: str, root: Path | None) -> _Entry:
    """`path` or `path#name`; a file whose name has a `#` in it is still found."""
    path, name = Path(given), None
    if "#" in given and not path.exists():
        before, _, after = given.rpartition("#")
        path, name = Path(before), after
    folder = root if root is not None else path.parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder '{folder}'")
    relative = Path(os.path.relpath(path.parent.resolve() / path.name, folder.resolve()))
    if relative.parts[:1] == ("..",):
        raise UsageError(f"'{path}' is not below the root '{folder}'")
    return _Entry(folder, relative.as_posix(), name)


def _given(inputs: Inputs) -> tuple[dict[str, InputValue], list[Finding]]:
    given: dict[str, InputValue] = {}
    findings: list[Finding] = []
    if inputs.file is not None:
        bundle = Bundle(DiskFiles(inputs.file.parent))
        source = bundle.open_entry(inputs.file.name)
        document = source.documents[0] if source and source.documents else None
        if document is not None and not isinstance(document.value, dict):
            bundle.findings.append(document.origin().finding("F202", "a file of inputs must be a mapping"))
        elif document is not None:
            given = {name: InputValue(value) for name, value in document.value.items()}
        findings = [_shown(finding, inputs.file.parent) for finding in bundle.findings]
    given |= {name: InputValue(text, is_text=True) for name, text in inputs.texts.items()}
    return given, findings


def _report(root: Path, result: Compilation, more: Sequence[Finding]) -> Report:
    findings = in_order([*more, *(_shown(finding, root) for finding in result.findings)])
    return Report(findings, {_shown_name(name, root): source.text for name, source in result.sources.items()})


def _shown(finding: Finding, root: Path) -> Finding:
    place: Place = replace(finding.place, file=_shown_name(finding.place.file, root))
    return replace(finding, place=place)


def _shown_name(name: str, root: Path) -> str:
    """A path as the command was given it, so that editors and terminals can follow it."""
    if name.startswith(BUILT_IN) or name == COMMAND_LINE.file:
        return name
    return (root / name).as_posix()
