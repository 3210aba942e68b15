"""The compiler's entry points: find the manifests in a file and handle each by the row of its kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from forum_runner.compile.kinds import KINDS
from forum_runner.compile.workflow_compiler import Compilation, CompileOptions, without_wave_plan
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.manifest_reader import ManifestReader
from forum_runner.manifest.workflow import InputValue
from forum_runner.model import ScriptAnswer

__all__ = ["Compilation", "check_file", "compile_workflow", "read_script"]


def compile_workflow(
    bundle: Bundle,
    entry: str,
    name: str | None,
    inputs: Mapping[str, InputValue],
    *,
    complete: bool,
    answers: tuple[ScriptAnswer, ...] | None = None,
) -> Compilation:
    """Compiles the workflow in the file `entry`; `name` selects one of several. For the rest, see CompileOptions."""
    source = bundle.open_entry(entry)
    if source is None:
        return without_wave_plan(bundle)
    options = CompileOptions(inputs, complete, answers)
    return _compile(ManifestReader(bundle, KINDS), source, _compiled_kinds(), name, options)


def check_file(bundle: Bundle, entry: str, name: str | None, inputs: Mapping[str, InputValue]) -> Compilation:
    """Checks each manifest in a file; with `name`, only the workflow of that name."""
    source = bundle.open_entry(entry)
    if source is None:
        return without_wave_plan(bundle)
    reader, options = ManifestReader(bundle, KINDS), CompileOptions(inputs)
    if name is not None:
        return _compile(reader, source, _compiled_kinds(), name, options)
    manifests = reader.manifests.all_in(source)
    for manifest in sorted(manifests, key=lambda manifest: manifest.kind in _compiled_kinds()):
        kind = KINDS[manifest.kind]
        if kind.compile is not None:
            _compile(reader, source, [kind.name], manifest.name, options)
        elif (value := reader.read(manifest)) is not None:
            reader.findings.extend(kind.check(reader, value))
    return without_wave_plan(bundle)


def read_script(bundle: Bundle, source: BundleFile, name: str | None) -> tuple[ScriptAnswer, ...]:
    """The answers of the script in a file."""
    reader = ManifestReader(bundle, KINDS)
    manifest = reader.manifests.entry(source, ["Script"], name)
    answers: tuple[ScriptAnswer, ...] = reader.read(manifest) if manifest else ()
    return answers


def _compiled_kinds() -> list[str]:
    return [kind.name for kind in KINDS.values() if kind.compile is not None]


def _compile(
    reader: ManifestReader, source: BundleFile, kinds: Collection[str], name: str | None, options: CompileOptions
) -> Compilation:
    manifest = reader.manifests.entry(source, kinds, name)
    compile_manifest = KINDS[manifest.kind].compile if manifest else None
    if manifest is None or compile_manifest is None:
        return without_wave_plan(reader.bundle)
    for other in reader.manifests.all_in(source):
        # What the manifest does not use may still have findings.
        if KINDS[other.kind].compile is None:
            reader.read(other)
    return compile_manifest(reader, reader.read(manifest), options)
