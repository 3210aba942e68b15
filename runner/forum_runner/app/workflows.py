"""Checks and compiles workflows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forum_runner.app.requests import Inputs
from forum_runner.compile.compiler import Compilation, CompileOptions, check_file, compile_workflow, read_script
from forum_runner.compile.inputs import COMMAND_LINE
from forum_runner.errors import UsageError
from forum_runner.finding import ManifestFinding, errors_in, sort_findings
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.bundle_files import BUILT_IN, DiskFiles, is_reserved, split_reference
from forum_runner.manifest.workflow import InputValue, read_inputs
from forum_runner.model import ScriptAnswer
from forum_runner.report import InvalidWorkflowError, Report

if TYPE_CHECKING:
    from forum_runner.wave_plan.wave_plan_reader import WavePlan


class _ExternalName(str):
    """The displayed name of a file that is not part of the bundle."""

    __slots__ = ()


# Without slots, because `plan` is cached.
@dataclass(frozen=True)
class Compiled:
    """A compiled workflow. `data` is the wave plan and `digest` its digest, if there are no errors.

    `sources` are the files that were read: an output must not overwrite them.
    """

    report: Report
    sources: tuple[Path, ...]
    data: bytes | None = field(default=None, repr=False)
    digest: str = ""
    root: Path = Path()
    answers: tuple[ScriptAnswer, ...] | None = None
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def plan(self) -> WavePlan:
        """The wave plan. Raises InvalidWorkflowError if there is none."""
        # `forum check` and `forum compile -o` do not read the plan, and its types take time to load.
        from forum_runner.wave_plan.wave_plan_reader import decode_wave_plan

        if self.data is None:
            raise InvalidWorkflowError(self.report)
        return decode_wave_plan(self.data)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of a workflow. `text` is None if the workflow has errors."""

    report: Report
    text: str | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """The file of a workflow: the bundle's root, the path from there, and the name of the manifest in the file."""

    root: Path
    path: str
    name: str | None


@dataclass(frozen=True, slots=True)
class _ExternalInputs:
    """Inputs and a script from outside the bundle, with the findings about their files and the texts of these files."""

    values: Mapping[str, InputValue]
    answers: tuple[ScriptAnswer, ...] | None
    findings: tuple[ManifestFinding, ...]
    texts: Mapping[str, str]


def check(paths: Sequence[str], root: Path | None, inputs: Inputs) -> Report:
    """Checks files, each with everything that it names. A file without a workflow is checked manifest by manifest."""
    findings: list[ManifestFinding] = []
    texts: dict[str, str] = {}
    external = _read_external_inputs(inputs)
    for path in paths:
        entry = _entry(path, root)
        result = check_file(Bundle(DiskFiles(entry.root)), entry.path, entry.name, external.values)
        report = _report(entry.root, result, external)
        findings += report.findings
        texts |= report.texts
    return Report(sort_findings(findings), texts)


def compile_file(
    path: str, root: Path | None, inputs: Inputs, *, require_all_inputs: bool = True, script: str | None = None
) -> Compiled:
    """Compiles a workflow. `script` replaces the workflow's own script."""
    entry, external = _entry(path, root), _read_external_inputs(inputs, script)
    bundle = Bundle(DiskFiles(entry.root))
    options = CompileOptions(external.values, require_all_inputs, external.answers)
    result = compile_workflow(bundle, entry.path, entry.name, options)
    report = _report(entry.root, result, external)
    sources = tuple(entry.root / name for name in result.sources if not is_reserved(name))
    if errors_in(external.findings) or result.data is None:
        return Compiled(report, sources)
    return Compiled(report, sources, result.data, result.digest, entry.root, result.answers, result.secrets)


def _entry(reference: str, root: Path | None) -> _Entry:
    """Parses `path` or `path#name`. A path that exists may itself contain `#`."""
    file, name = (reference, None) if Path(reference).exists() else split_reference(reference.removesuffix("#"))
    path = Path(file)
    folder = root if root is not None else path.parent
    if root is not None and not root.is_dir():
        raise UsageError(f"the folder '{root}' does not exist")
    relative = Path(os.path.relpath(path.parent.resolve() / path.name, folder.resolve())).as_posix()
    if relative.startswith("../"):
        raise UsageError(f"'{path}' is not inside the root '{folder}'")
    if is_reserved(relative):
        raise UsageError(f"'{path}' begins with '{BUILT_IN}', which is reserved for forum's own files")
    if relative.encode(errors="ignore").decode() != relative:
        raise UsageError(f"the path {relative!a} is not valid Unicode")
    return _Entry(folder, relative, name)


def _read_external_inputs(inputs: Inputs, script: str | None = None) -> _ExternalInputs:
    values: dict[str, InputValue] = {}
    answers: tuple[ScriptAnswer, ...] | None = None
    findings: list[ManifestFinding] = []
    texts: dict[str, str] = {}
    if inputs.file is not None:
        bundle, source = _open_external(inputs.file)
        if source is not None:
            values = {n: replace(value, is_private=True) for n, value in read_inputs(bundle, source).items()}
            texts[source.name] = source.text
        findings += (_with_display_name(finding, inputs.file.parent) for finding in bundle.findings)
    if script is not None:
        entry = _entry(script, None)
        bundle, source = _open_external(entry.root / entry.path)
        answers = () if source is None else read_script(bundle, source, entry.name)
        texts |= {} if source is None else {source.name: source.text}
        findings += (_with_display_name(finding, entry.root) for finding in bundle.findings)
    values |= {name: InputValue(text, is_text=True) for name, text in inputs.texts.items()}
    return _ExternalInputs(values, answers, tuple(findings), texts)


def _open_external(path: Path) -> tuple[Bundle, BundleFile | None]:
    """Opens a file that is not part of the bundle; None if it cannot be read. Findings show its path as given."""
    bundle = Bundle(DiskFiles(path.parent))
    source = bundle.open_path(path.name)
    if source is None:
        return bundle, None
    display_name = _ExternalName(path.as_posix())
    documents = tuple(replace(document, file=display_name) for document in source.documents)
    return bundle, replace(source, name=display_name, documents=documents)


def _report(root: Path, result: Compilation, external: _ExternalInputs) -> Report:
    findings = sort_findings([*external.findings, *(_with_display_name(finding, root) for finding in result.findings)])
    texts = {_display_name(name, root): source.text for name, source in result.sources.items()}
    return Report(findings, {**texts, **external.texts})


def _with_display_name(finding: ManifestFinding, root: Path) -> ManifestFinding:
    return replace(finding, place=replace(finding.place, file=_display_name(finding.place.file, root)))


def _display_name(name: str, root: Path) -> str:
    """The path as the user gave it, so that editors and terminals can open it."""
    if isinstance(name, _ExternalName) or is_reserved(name) or name == COMMAND_LINE.file:
        return name
    return (root / name).as_posix()
