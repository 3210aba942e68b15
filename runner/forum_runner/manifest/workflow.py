"""Reads a workflow with its roster, policy, plan, inputs and script, which can be inline or in other files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.document import Origin
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.manifest_reader import DEFAULT, ManifestReader
from forum_runner.model import Plan, Policy, Roster, ScriptAnswer


@dataclass(frozen=True, slots=True)
class InputValue:
    """A value for an input, and its location if it comes from a file.

    A private value comes from an inputs file outside the bundle, so it may be a secret. If `is_text` is set, the type
    of the input decides how to parse the value, and `problem` is the reason if that fails.
    """

    value: Any
    origin: Origin | None = None
    is_private: bool = False
    is_text: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow with its parts. A roster, policy or plan that could not be read is None and has a finding.

    `answers` is None if the workflow has no script, or none that could be read.
    """

    origin: Origin
    name: str
    description: str | None
    roster: Roster | None
    policy: Policy | None
    plan: Plan | None
    inputs: Mapping[str, InputValue]
    answers: tuple[ScriptAnswer, ...] | None


def read_workflow(reader: ManifestReader, value: Mapping[str, Any], origin: Origin) -> Workflow:
    metadata = value.get("metadata", {})
    return Workflow(
        origin=origin,
        name=metadata.get("name", ""),
        description=metadata.get("description"),
        roster=reader.workflow_part(value, origin, "Roster"),
        policy=reader.workflow_part(value, origin, "Policy"),
        plan=reader.workflow_part(value, origin, "Plan", required=True),
        inputs=_workflow_inputs(reader.bundle, value, origin.at("inputs")),
        answers=reader.workflow_part(value, origin, "Script"),
    )


def read_inputs(bundle: Bundle, source: BundleFile, hint: str | None = None) -> dict[str, InputValue]:
    """The values in an inputs file, by name; empty if the file is not one mapping, which is a finding."""
    document = bundle.single_document(source, hint)
    if document is None:
        return {}
    origin = document.origin()
    if not isinstance(document.value, dict):
        bundle.findings.append(origin.finding("F202", "an inputs file must be a mapping"))
        return {}
    return {name: InputValue(value, origin.at(name)) for name, value in document.value.items()}


def read_answers(value: Mapping[str, Any], origin: Origin) -> tuple[ScriptAnswer, ...]:
    """The answers of a script. Invalid answers are left out."""
    answers = enumerate(value.get("answers", ()))
    valid = ((i, answer) for i, answer in answers if answer is not None)
    return tuple(ScriptAnswer(origin.at("answers", i), a.get("task"), a.get("agent"), a) for i, a in valid)


def _workflow_inputs(bundle: Bundle, workflow: Mapping[str, Any], origin: Origin) -> dict[str, InputValue]:
    inputs = workflow.get("inputs", DEFAULT)
    if inputs == DEFAULT:
        return {}
    if isinstance(inputs, str):
        source = bundle.open_reference(inputs, origin)
        return read_inputs(bundle, source, f"'{origin.document.file}' refers to it") if source else {}
    return {name: InputValue(value, origin.at(name)) for name, value in inputs.items()}
