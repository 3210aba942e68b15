"""Puts a workflow together: its roster, policy, plan, inputs and script, from wherever it names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.bundle_files import BUILT_IN
from forum_runner.manifest.manifests import Manifest, Manifests
from forum_runner.manifest.plan_reader import PlanReader
from forum_runner.manifest.policy_reader import read_policy
from forum_runner.manifest.raw_value import is_present
from forum_runner.manifest.roster_reader import read_roster
from forum_runner.manifest.user_schema import SchemaReader
from forum_runner.model import Answer, Plan, Policy, Roster

DEFAULT = "default"

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class InputValue:
    """A value for an input, and where it was given: in a file, or nowhere that has a place.

    `is_private`: it came with the command and goes into no record. `is_text`: it was typed, and the plan has yet to
    say what it is; `problem` is why it could not be read as that.
    """

    value: Any
    origin: Origin | None = None
    is_private: bool = False
    is_text: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A part that could not be read is None, and a finding says why. Without a script there are no answers."""

    origin: Origin
    name: str
    description: str | None
    roster: Roster | None
    policy: Policy | None
    plan: Plan | None
    inputs: Mapping[str, InputValue]
    answers: tuple[Answer, ...] | None


class WorkflowReader:
    """Reads workflows and the plans that they use, each plan once."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.manifests = Manifests(bundle)
        self._plan_reader = PlanReader(SchemaReader(bundle), bundle.findings)
        self._plans: dict[tuple[str, tuple[str | int, ...], int], Plan] = {}

    @property
    def findings(self) -> list[ManifestFinding]:
        return self.bundle.findings

    def read(self, source: BundleFile, manifest: Manifest) -> Workflow:
        metadata = manifest.value.get("metadata", {})
        for item in self.manifests.all_in(source):
            if item.kind == "Plan":
                self.plan_of(item.value, item.origin)
        return Workflow(
            origin=manifest.origin,
            name=metadata.get("name", ""),
            description=metadata.get("description"),
            roster=self._part(source, manifest, "Roster", read_roster),
            policy=self._part(source, manifest, "Policy", read_policy),
            plan=self._part(source, manifest, "Plan", self.plan_of),
            inputs=self._inputs(manifest),
            answers=self._part(source, manifest, "Script", read_answers),
        )

    def used_plan(self, reference: str, origin: Origin) -> Plan | None:
        """The plan that a task's `uses` means."""
        manifest = self.manifests.by_reference(reference, "Plan", origin)
        return self.plan_of(manifest.value, manifest.origin) if manifest else None

    def plan_of(self, value: Mapping[str, Any], origin: Origin) -> Plan:
        key = (origin.document.file, origin.path, id(origin.document))
        if key not in self._plans:
            self._plans[key] = self._plan_reader.read(value, origin)
        return self._plans[key]

    def _part(
        self,
        source: BundleFile,
        workflow: Manifest,
        kind: str,
        read: Callable[[Mapping[str, Any], Origin], _Read | None],
    ) -> _Read | None:
        """A path, an inline mapping, `default`, or nothing: then what stands in the same file, else the default."""
        field = kind.lower()
        given, origin = workflow.value.get(field), workflow.origin.at(field)
        if isinstance(given, dict):
            return read(given, origin)
        if given is None and is_present(origin):
            return None
        beside = self.manifests.beside(source, kind) if given is None else []
        if len(beside) > 1:
            return None
        manifest = beside[0] if beside else None
        has_default = kind in ("Roster", "Policy")
        if given == DEFAULT or (given is None and manifest is None and has_default):
            manifest = self._default(kind, origin)
        elif isinstance(given, str):
            manifest = self.manifests.by_reference(given, kind, origin)
        elif manifest is None and kind == "Plan":
            message = "the workflow has no plan"
            self.findings.append(
                workflow.origin.at("kind").finding("F203", message, "give 'plan': a path or a mapping")
            )
        return read(manifest.value, manifest.origin) if manifest else None

    def _default(self, kind: str, origin: Origin) -> Manifest | None:
        if kind not in ("Roster", "Policy"):
            message = f"there is no default {kind.lower()}"
            self.findings.append(origin.finding("F005", message, "give a path or a mapping"))
            return None
        source = self.bundle.open_entry(f"{BUILT_IN}default/{kind.lower()}.yaml")
        return self.manifests.entry(source, kind, None) if source else None

    def _inputs(self, workflow: Manifest) -> dict[str, InputValue]:
        given, origin = workflow.value.get("inputs", DEFAULT), workflow.origin.at("inputs")
        if given == DEFAULT:
            return {}
        if isinstance(given, str):
            source = self.bundle.open_reference(given, origin)
            return read_inputs(self.bundle, source, f"it is read from {origin.document.file}") if source else {}
        return {name: InputValue(value, origin.at(name)) for name, value in given.items()}


def read_inputs(bundle: Bundle, source: BundleFile, hint: str | None = None) -> dict[str, InputValue]:
    """The values in a file of inputs."""
    document = bundle.single_document(source, hint)
    if document is None:
        return {}
    origin = document.origin()
    if not isinstance(document.value, dict):
        bundle.findings.append(origin.finding("F202", "a file of inputs must be a mapping"))
        return {}
    return {name: InputValue(value, origin.at(name)) for name, value in document.value.items()}


def read_answers(value: Mapping[str, Any], origin: Origin) -> tuple[Answer, ...]:
    answers = enumerate(value.get("answers", ()))
    found = ((i, answer) for i, answer in answers if answer is not None)
    return tuple(Answer(origin.at("answers", i), a.get("task"), a.get("agent"), a) for i, a in found)


def read_script(bundle: Bundle, source: BundleFile, name: str | None) -> tuple[Answer, ...]:
    """The answers of a script that a command was given."""
    manifest = Manifests(bundle).entry(source, "Script", name)
    return read_answers(manifest.value, manifest.origin) if manifest else ()
