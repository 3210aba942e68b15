"""Checks input values: each input exists and has a valid value, and no recorded file contains a secret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jsonschema_rs

from forum_runner.compile.project import Project
from forum_runner.compile.type_rules import Type
from forum_runner.document import Origin, Path
from forum_runner.finding import ManifestFinding, Place
from forum_runner.manifest.instance_path import instance_path
from forum_runner.manifest.raw_value import has_wrong_type, raw_value
from forum_runner.manifest.suggest import hint_for, suggest
from forum_runner.manifest.template import contains_reference
from forum_runner.manifest.workflow import InputValue
from forum_runner.manifest.yaml_reader import read_yaml
from forum_runner.model import Plan, PlanInput, Schema

COMMAND_LINE = Place("(command line)")


@dataclass(frozen=True, slots=True)
class SchemaMismatch:
    """A part of a value that does not match its schema, and the reason."""

    path: Path
    reason: str
    hint: str | None


def schema_mismatch(value: Any, schema: Schema | None) -> SchemaMismatch | None:
    """The first reason why a value does not match its schema; None if it matches, or if there is no schema."""
    if schema is None:
        return None
    error = next(iter(_validator(schema).iter_errors(value)), None)
    if error is None:
        return None
    path = instance_path(error, value)
    where = "/".join(map(str, path))
    reason = f"at '{where}', {error.message}" if where else error.message
    is_unquoted = isinstance(error.instance, int | float) and error.kind.as_dict().get("types") == ["string"]
    return SchemaMismatch(path, reason, "quote it" if is_unquoted else None)


@lru_cache(maxsize=1024)
def _validator(schema: Schema) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema.value, offline=True)


def parse_values(values: Mapping[str, InputValue], plan: Plan) -> dict[str, InputValue]:
    """Parses text from the command line by the type of each input: `1.10` stays text if the input can be text."""
    return {name: _parse_value(item, plan.inputs.get(name)) for name, item in values.items()}


def _parse_value(item: InputValue, declared: PlanInput | None) -> InputValue:
    if not item.is_text or declared is None or declared.schema is None:
        return item
    if "string" in Type.of(declared.schema.value).kinds():
        return item
    documents, findings = read_yaml(COMMAND_LINE.file, item.value)
    if findings:
        return replace(item, problem=findings[0].message)
    return replace(item, value=documents[0].value) if len(documents) == 1 else item


def check_input_declarations(plan: Plan) -> Iterator[ManifestFinding]:
    """Checks the declarations of a plan's inputs."""
    for item in plan.inputs.values():
        origin = item.origin.at("default")
        if item.secret and item.has_default:
            message = f"input '{item.name}' is secret and cannot have a default"
            yield origin.key_finding("F018", message, "pass it when the run starts")
        elif item.has_default and (mismatch := schema_mismatch(item.default, item.schema)):
            message = f"the default of input '{item.name}' does not match its schema: {mismatch.reason}"
            yield origin.at(*mismatch.path).finding("F017", message, mismatch.hint)


def check_values(
    plan: Plan, values: Mapping[str, InputValue], *, require_all_inputs: bool
) -> Iterator[ManifestFinding]:
    """Checks the values from the workflow and the command line. `require_all_inputs` also reports missing values."""
    for name, item in values.items():
        declared = plan.inputs.get(name)
        if declared is None and has_wrong_type(plan.origin.at("inputs"), dict):
            continue
        if declared is None:
            place = item.origin.key_place() if item.origin else COMMAND_LINE
            yield ManifestFinding(
                "F015", place, f"the plan has no input '{name}'", hint_for(name, plan.inputs, "inputs")
            )
        elif declared.secret:
            yield from _check_secret(declared, item)
        elif item.problem is not None:
            yield ManifestFinding("F017", COMMAND_LINE, f"invalid value for input '{name}': {item.problem}")
        elif mismatch := schema_mismatch(item.value, declared.schema):
            place = item.origin.at(*mismatch.path).place() if item.origin else COMMAND_LINE
            message = f"input '{name}' does not match its schema: {mismatch.reason}"
            yield ManifestFinding("F017", place, message, mismatch.hint if item.origin else None)
    intended = _intended_inputs(values, plan)
    for name, declared in plan.inputs.items():
        if (
            require_all_inputs
            and name not in values
            and name not in intended
            and not declared.has_default
            and not declared.secret
        ):
            message = f"input '{name}' has no value"
            yield declared.origin.key_finding("F016", message, f"pass --input {name}=VALUE, or add a 'default'")


def _check_secret(declared: PlanInput, item: InputValue) -> Iterator[ManifestFinding]:
    """Checks a secret input. If the value is invalid, the finding neither contains it nor points to its line."""
    if item.origin and not item.is_private:
        message = f"input '{declared.name}' is secret and cannot be set in a manifest"
        yield item.origin.finding("F018", message, "pass it when the run starts")
    elif item.problem is not None or schema_mismatch(item.value, declared.schema):
        yield ManifestFinding("F017", COMMAND_LINE, f"secret input '{declared.name}' does not match its schema")


def check_arguments(plan: Plan, project: Project) -> Iterator[ManifestFinding]:
    """Checks the arguments of used plans. Values with references are checked during expansion."""
    for task in plan.tasks.values():
        inner = project.used_plan(task)
        if inner is None or has_wrong_type(task.origin.at("with"), dict):
            continue
        for name, value in task.arguments.items():
            origin = task.origin.at("with", name)
            declared = inner.inputs.get(name)
            if declared is None:
                hint = hint_for(name, inner.inputs, "inputs")
                yield origin.key_finding("F707", f"the plan used by '{task.id}' has no input '{name}'", hint)
            elif not contains_reference(value):
                yield from check_argument(declared, value, origin)
        intended = _intended_inputs(task.arguments, inner)
        for name, declared in inner.inputs.items():
            if name not in task.arguments and name not in intended and not declared.has_default:
                message = f"the plan used by '{task.id}' requires input '{name}'"
                yield task.origin.at("uses").finding("F706", message, f"add 'with: {{{name}: ...}}'")


def check_argument(declared: PlanInput, value: Any, origin: Origin) -> Iterator[ManifestFinding]:
    if declared.secret:
        message = f"input '{declared.name}' is secret and cannot be set in a manifest"
        yield origin.finding("F018", message, "pass a secret input: ${{ inputs.NAME }}")
    elif mismatch := schema_mismatch(value, declared.schema):
        message = f"input '{declared.name}' does not match its schema: {mismatch.reason}"
        # The value comes from a reference, so a hint on the syntax here would mislead.
        hint = None if contains_reference(raw_value(origin)) else mismatch.hint
        yield origin.at(*mismatch.path).finding("F017", message, hint)


def _intended_inputs(names: Iterable[str], plan: Plan) -> set[str | None]:
    """The inputs that misspelled names probably refer to, so that they are not also reported as missing."""
    return {suggest(name, plan.inputs) for name in names if name not in plan.inputs}
