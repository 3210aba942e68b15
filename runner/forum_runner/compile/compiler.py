"""The compiler's entry points. They find the manifests in a file and dispatch each to the functions of its kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from forum_runner.compile.kinds import KINDS
from forum_runner.compile.workflow_compiler import Compilation, CompileOptions, findings_only
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.manifest_reader import ManifestReader
from forum_runner.manifest.workflow import InputValue
from forum_runner.model import ScriptAnswer

__all__ = ["Compilation", "CompileOptions", "check_file", "compile_workflow", "read_script"]


def compile_workflow(bundle: Bundle, file: str, name: str | None, options: CompileOptions) -> Compilation:
    """Compiles the workflow in `file`. `name` selects one of several workflows in the file.

    Other manifests in the file are read too, even if the workflow does not use them.
    """
    source = bundle.open_path(file)
    if source is None:
        return findings_only(bundle)
    return _compile(ManifestReader(bundle, KINDS), source, _compilable_kinds(), name, options)


def check_file(bundle: Bundle, file: str, name: str | None, inputs: Mapping[str, InputValue]) -> Compilation:
    """Checks each manifest in a file. If `name` is set, the only workflow that is checked is the one with this name."""
    source = bundle.open_path(file)
    if source is None:
        return findings_only(bundle)
    reader, options = ManifestReader(bundle, KINDS), CompileOptions(inputs)
    if name is not None:
        return _compile(reader, source, _compilable_kinds(), name, options)
    manifests = reader.manifests.manifests_in(source)
    for manifest in sorted(manifests, key=lambda manifest: manifest.kind in _compilable_kinds()):
        kind = KINDS[manifest.kind]
        if kind.compile is not None:
            _compile(reader, source, [kind.name], manifest.name, options)
        elif (value := reader.read(manifest)) is not None and kind.check is not None:
            bundle.findings += kind.check(reader, value)
    return findings_only(bundle)


def read_script(bundle: Bundle, source: BundleFile, name: str | None) -> tuple[ScriptAnswer, ...]:
    """The answers of the script in a file; empty if there is no such script or it has errors.

    `name` selects one of several scripts.
    """
    reader = ManifestReader(bundle, KINDS)
    manifest = reader.manifests.single_manifest(source, ["Script"], name)
    answers: tuple[ScriptAnswer, ...] = reader.read(manifest) if manifest else ()
    return answers


def _compilable_kinds() -> list[str]:
    return [kind.name for kind in KINDS.values() if kind.compile is not None]


def _compile(
    reader: ManifestReader, source: BundleFile, kinds: Collection[str], name: str | None, options: CompileOptions
) -> Compilation:
    manifest = reader.manifests.single_manifest(source, kinds, name)
    compile_manifest = KINDS[manifest.kind].compile if manifest else None
    if manifest is None or compile_manifest is None:
        return findings_only(reader.bundle)
    for other in reader.manifests.manifests_in(source):
        # Also read the manifests that this one does not use, so that their findings are reported.
        if KINDS[other.kind].compile is None:
            reader.read(other)
    return compile_manifest(reader, reader.read(manifest), options)
