"""The application's functions that check and compile workflows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from forum_runner.app.invalid_workflow import InvalidWorkflowError
from forum_runner.app.requests import Inputs
from forum_runner.compile.compiler import Compilation, check_file, compile_workflow, read_script
from forum_runner.compile.inputs import COMMAND_LINE
from forum_runner.errors import UsageError
from forum_runner.finding import ManifestFinding, errors_in, in_order
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.bundle_files import BUILT_IN, DiskFiles, is_reserved, split_reference
from forum_runner.manifest.workflow import InputValue, read_inputs
from forum_runner.model import ScriptAnswer
from forum_runner.report import Report
from forum_runner.wave_plan.wave_plan_reader import WavePlan, decode_wave_plan


class _Beside(str):
    """The name of a file that is no part of the bundle, as it is shown."""

    __slots__ = ()


# Without slots, because `plan` is cached.
@dataclass(frozen=True)
class Compiled:
    """`data` and `digest` are those of the wave plan, if there are no errors. `sources` are the files that were read:
    no output may overwrite them."""

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
        if self.data is None:
            raise InvalidWorkflowError(self.report)
        return decode_wave_plan(self.data)


@dataclass(frozen=True, slots=True)
class Drawing:
    """`text` is None if the workflow has errors."""

    report: Report
    text: str | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file that a command was given: the bundle's root, the path from there, the name of the manifest in it."""

    root: Path
    path: str
    name: str | None


@dataclass(frozen=True, slots=True)
class _ReadInputs:
    """The inputs of a command, what is wrong with their file, and its text."""

    values: Mapping[str, InputValue]
    findings: tuple[ManifestFinding, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Scripted:
    """The answers of a script that a command was given, what is wrong with its file, and its text."""

    answers: tuple[ScriptAnswer, ...]
    findings: tuple[ManifestFinding, ...]
    texts: Mapping[str, str]


def check(paths: Sequence[str], root: Path | None, inputs: Inputs) -> Report:
    """Checks files, each with all that it names; a file without a workflow, manifest by manifest."""
    findings: list[ManifestFinding] = []
    texts: dict[str, str] = {}
    given = _given(inputs)
    for path in paths:
        entry = _entry(path, root)
        result = check_file(Bundle(DiskFiles(entry.root)), entry.path, entry.name, given.values)
        report = _report(entry.root, result, given)
        findings += report.findings
        texts |= report.texts
    return Report(in_order(findings), texts)


def compile_file(
    path: str, root: Path | None, inputs: Inputs, *, complete: bool = True, script: str | None = None
) -> Compiled:
    """Compiles a workflow; `complete` asks for a value for each of its inputs. `script` takes the place of its own."""
    entry = _entry(path, root)
    given = _given(inputs)
    answers = None
    if script is not None:
        scripted = _script(script)
        given = _ReadInputs(given.values, (*given.findings, *scripted.findings), {**given.texts, **scripted.texts})
        answers = scripted.answers
    bundle = Bundle(DiskFiles(entry.root))
    result = compile_workflow(bundle, entry.path, entry.name, given.values, complete=complete, answers=answers)
    report = _report(entry.root, result, given)
    sources = tuple(entry.root / name for name in result.sources if not is_reserved(name))
    if errors_in(given.findings) or result.wave_plan is None:
        return Compiled(report, sources)
    digest = result.wave_plan["digest"]
    return Compiled(report, sources, result.data, digest, entry.root, result.answers, result.secrets)


def _entry(given: str, root: Path | None) -> _Entry:
    """`path` or `path#name`; a file whose name has a `#` in it is still found."""
    written, name = (given, None) if Path(given).exists() else split_reference(given.removesuffix("#"))
    path = Path(written)
    folder = root if root is not None else path.parent
    if root is not None and not root.is_dir():
        raise UsageError(f"there is no folder '{root}'")
    relative = Path(os.path.relpath(path.parent.resolve() / path.name, folder.resolve())).as_posix()
    if relative.startswith("../"):
        raise UsageError(f"'{path}' is not below the root '{folder}'")
    if is_reserved(relative):
        raise UsageError(f"'{path}' begins with '{BUILT_IN}', as only forum's own files do")
    if not _is_unicode(relative):
        raise UsageError(f"the path {relative!a} is not valid Unicode")
    return _Entry(folder, relative, name)


def _given(inputs: Inputs) -> _ReadInputs:
    values: dict[str, InputValue] = {}
    findings: list[ManifestFinding] = []
    texts: dict[str, str] = {}
    if inputs.file is not None:
        bundle = Bundle(DiskFiles(inputs.file.parent))
        source = bundle.open_entry(inputs.file.name)
        if source is not None:
            # From here on the file goes by the name under which it is shown: it is no part of the bundle.
            shown = _Beside(inputs.file.as_posix())
            documents = tuple(replace(document, file=shown) for document in source.documents)
            values = read_inputs(bundle, replace(source, name=shown, documents=documents))
            values = {name: replace(value, is_private=True) for name, value in values.items()}
            texts[inputs.file.as_posix()] = source.text
        findings = [_shown(finding, inputs.file.parent) for finding in bundle.findings]
    values |= {name: InputValue(text, is_text=True) for name, text in inputs.texts.items()}
    return _ReadInputs(values, tuple(findings), texts)


def _script(path: str) -> _Scripted:
    """A script that a command was given. It is no part of the bundle, as a file of inputs is none."""
    entry = _entry(path, None)
    bundle = Bundle(DiskFiles(entry.root))
    source = bundle.open_entry(entry.path)
    if source is None:
        return _Scripted((), tuple(_shown(finding, entry.root) for finding in bundle.findings), {})
    shown = _Beside((entry.root / entry.path).as_posix())
    documents = tuple(replace(document, file=shown) for document in source.documents)
    answers = read_script(bundle, replace(source, name=shown, documents=documents), entry.name)
    return _Scripted(answers, tuple(_shown(finding, entry.root) for finding in bundle.findings), {shown: source.text})


def _report(root: Path, result: Compilation, given: _ReadInputs) -> Report:
    findings = in_order([*given.findings, *(_shown(finding, root) for finding in result.findings)])
    texts = {_shown_name(name, root): source.text for name, source in result.sources.items()}
    return Report(findings, {**texts, **given.texts})


def _shown(finding: ManifestFinding, root: Path) -> ManifestFinding:
    return replace(finding, place=replace(finding.place, file=_shown_name(finding.place.file, root)))


def _shown_name(name: str, root: Path) -> str:
    """A path as the command was given it, so that editors and terminals can follow it."""
    if isinstance(name, _Beside) or is_reserved(name) or name == COMMAND_LINE.file:
        return name
    return (root / name).as_posix()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
