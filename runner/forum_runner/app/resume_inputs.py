"""The inputs of a run that is resumed: secrets, which are not recorded, and others, which must not change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET

from forum_runner.app.requests import Inputs
from forum_runner.canonical import canonical
from forum_runner.compile.inputs import schema_mismatch
from forum_runner.compile.type_rules import Type
from forum_runner.errors import CanonicalError, UsageError
from forum_runner.finding import errors_in
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.bundle_files import DiskFiles
from forum_runner.manifest.suggest import hint_for
from forum_runner.manifest.workflow import read_inputs
from forum_runner.manifest.yaml_reader import read_yaml
from forum_runner.model import Schema
from forum_runner.wave_plan.wave_plan_reader import WavePlan


def read_secrets(plan: WavePlan, inputs: Inputs) -> dict[str, Any]:
    """Reads the values of secret inputs. Other inputs must equal those of the wave plan. Texts override the file."""
    values = {} if inputs.file is None else _read_file(inputs.file)
    values |= {name: _parse_text(plan, name, text) for name, text in inputs.texts.items()}
    secrets = {}
    for name, value in values.items():
        known = plan.inputs.get(name)
        if known is None:
            hint = hint_for(name, plan.inputs, "inputs")
            raise UsageError(f"the run has no input '{name}'" + (f"; {hint}" if hint else ""))
        if known.is_secret:
            secrets[name] = value
        elif not _is_same(value, None if known.value is UNSET else known.value):
            hint = "a resumed run keeps its inputs; to change them, start a new run with 'forum resume --failed'"
            raise UsageError(f"the input '{name}' differs from its value when the run started; {hint}")
    return secrets


def check_secrets(plan: WavePlan, secrets: Mapping[str, Any]) -> None:
    names = plan.secret_names()
    for name, value in secrets.items():
        if name not in names:
            raise UsageError(f"'{name}' is not a secret input of the run")
        if schema_mismatch(value, _schema_of(plan, name)):
            raise UsageError(f"input '{name}' does not match its schema (its value is secret, so it is not shown)")


def _read_file(file: Path) -> dict[str, Any]:
    """Reads the inputs in a file. Errors do not quote the file, because it may contain secrets."""
    bundle = Bundle(DiskFiles(file.parent))
    source = bundle.open_path(file.name)
    values = {} if source is None else read_inputs(bundle, source)
    for finding in errors_in(bundle.findings):
        place = f"'{file}', line {finding.place.line}" if source is not None else f"'{file}'"
        raise UsageError(f"cannot read inputs from {place}: {finding.message}")
    return {name: item.value for name, item in values.items()}


def _parse_text(plan: WavePlan, name: str, text: str) -> Any:
    """Parses a text as `forum run` does: as YAML, unless the input accepts strings or the text is not YAML."""
    if name not in plan.inputs or "string" in Type.of(_schema_of(plan, name).value).kinds():
        return text
    documents, findings = read_yaml(name, text)
    return documents[0].value if not findings and len(documents) == 1 else text


def _schema_of(plan: WavePlan, name: str) -> Schema:
    digest = plan.inputs[name].schema
    return Schema(digest, plan.schemas[digest])


def _is_same(value: Any, recorded: Any) -> bool:
    try:
        return canonical(value) == canonical(recorded)
    except CanonicalError:
        return False
