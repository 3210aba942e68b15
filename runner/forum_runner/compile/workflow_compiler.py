"""Compiles a workflow: check, expand, layer, write.

Every check runs, whatever the other checks find. A step is skipped only if it is impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from forum_runner.compile.budget_checks import check_budgets
from forum_runner.compile.edge_checks import check_edges
from forum_runner.compile.edge_types import OutputTypes, check_edge_types
from forum_runner.compile.expand import expand
from forum_runner.compile.inputs import check_arguments, check_input_declarations, check_values, parse_values
from forum_runner.compile.matrix import check_matrix
from forum_runner.compile.name_checks import check_answer_ids, check_answers, check_names, check_rates, check_roster
from forum_runner.compile.permissions import check_allow_lists, check_permissions
from forum_runner.compile.project import Project, check_size, collect_plans
from forum_runner.compile.references import check_references
from forum_runner.compile.scope import Binding, KnownInput, SecretInput, UnsetInput
from forum_runner.compile.wave_plan_writer import write_wave_plan
from forum_runner.finding import ManifestFinding, Place, errors_in, sort_findings
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.manifest_reader import ManifestReader
from forum_runner.manifest.workflow import InputValue, Workflow
from forum_runner.model import Plan, Policy, Roster, ScriptAnswer

_UNREADABLE_VALUE_CODES = ("F113", "F114", "F116", "F117", "F118")


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile a workflow. `inputs` override its input values, and `answers` the answers of its script.

    `require_all_inputs` reports inputs without a value, except secret ones.
    """

    inputs: Mapping[str, InputValue] = field(default_factory=dict)
    require_all_inputs: bool = False
    answers: tuple[ScriptAnswer, ...] | None = None


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of compiling or checking: the findings, in order, and the files that were read, by path.

    `wave_plan` and its bytes, `data`, are None if a finding is an error or nothing was compiled. `answers` are the
    answers of the workflow's script, or None if it has no script. `secrets` are the values of secret inputs. A run
    needs both, but the wave plan contains neither.
    """

    findings: tuple[ManifestFinding, ...]
    sources: Mapping[str, BundleFile]
    wave_plan: Mapping[str, Any] | None = None
    data: bytes | None = field(default=None, repr=False)
    answers: tuple[ScriptAnswer, ...] | None = None
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def digest(self) -> str:
        return "" if self.wave_plan is None else str(self.wave_plan["digest"])


def compile_to_wave_plan(reader: ManifestReader, workflow: Workflow, options: CompileOptions) -> Compilation:
    """Compiles a workflow that has been read. Without errors, the result contains a wave plan."""
    bundle = reader.bundle
    if options.answers is not None:
        workflow = replace(workflow, answers=options.answers)
    if workflow.plan is None:
        bundle.findings += _check_roster_and_policy(workflow.roster, workflow.policy)
        return findings_only(bundle)
    inputs = {**workflow.inputs, **parse_values(options.inputs, workflow.plan)}
    project = _make_project(workflow.plan, workflow, reader)
    bundle.findings += check_values(workflow.plan, inputs, require_all_inputs=options.require_all_inputs)
    bundle.findings += check_answers(workflow.answers or (), project)
    bundle.findings += _check(project)
    if errors_in(bundle.findings):
        return findings_only(bundle)
    compiled = _write(bundle, workflow, project, _bind_inputs(workflow.plan, inputs))
    secrets = {
        name: inputs[name].value for name, item in workflow.plan.inputs.items() if item.secret and name in inputs
    }
    return replace(compiled, answers=workflow.answers, secrets=secrets)


def check_plan(reader: ManifestReader, plan: Plan) -> Iterator[ManifestFinding]:
    """The findings of the checks of a plan on its own, without a roster and a policy."""
    return _check(_make_project(plan, None, reader))


def _make_project(plan: Plan, workflow: Workflow | None, reader: ManifestReader) -> Project:
    used_plans, findings = collect_plans(plan, reader.used_plan)
    reader.bundle.findings += findings
    roster, policy = (workflow.roster, workflow.policy) if workflow else (None, None)
    return Project(plan, roster, policy, used_plans)


def _check(project: Project) -> Iterator[ManifestFinding]:
    yield from _check_roster_and_policy(project.roster, project.policy)
    types = OutputTypes(project)
    for plan in project.plans():
        yield from check_input_declarations(plan)
        yield from check_names(plan, project)
        yield from check_edges(plan)
        yield from check_references(plan)
        yield from check_edge_types(plan, project, types)
        yield from check_arguments(plan, project)
        for task in plan.tasks.values():
            yield from check_matrix(task)
    yield from check_permissions(project)
    too_large = list(check_size(project))
    yield from too_large
    if not too_large:
        yield from check_budgets(project)


def _check_roster_and_policy(roster: Roster | None, policy: Policy | None) -> Iterator[ManifestFinding]:
    """The findings of the checks of a roster, and of a policy with it, that need no plan."""
    if roster:
        yield from check_roster(roster)
    if roster and policy:
        yield from check_rates(policy, roster)
        yield from check_allow_lists(policy, roster)


def _bind_inputs(plan: Plan, inputs: Mapping[str, InputValue]) -> dict[str, Binding]:
    bindings: dict[str, Binding] = {}
    for name, declared in plan.inputs.items():
        if declared.secret:
            bindings[name] = SecretInput(name)
        elif name in inputs:
            bindings[name] = KnownInput(inputs[name].value)
        else:
            bindings[name] = KnownInput(declared.default) if declared.has_default else UnsetInput()
    return bindings


def _write(bundle: Bundle, workflow: Workflow, project: Project, bindings: Mapping[str, Binding]) -> Compilation:
    expansion = expand(project, bindings)
    bundle.findings += expansion.findings
    bundle.findings += check_answer_ids(workflow.answers or (), expansion.tasks)
    if expansion.excess:
        message = f"the plan expands to more than {expansion.excess}"
        bundle.findings.append(project.root.origin.at("tasks").key_finding("F708", message))
    if errors_in(bundle.findings):
        return findings_only(bundle)
    sources = bundle.sources
    document, data = write_wave_plan(workflow, project, expansion, bindings, sources.values())
    return Compilation(sort_findings(bundle.findings), sources, document, data)


def findings_only(bundle: Bundle) -> Compilation:
    """A compilation without a wave plan, because there is an error or nothing to compile."""
    return Compilation(sort_findings(_without_consequences(bundle.findings)), bundle.sources)


def _without_consequences(findings: list[ManifestFinding]) -> Iterator[ManifestFinding]:
    """Drops other findings about values that the YAML reader could not read: the reader's finding explains them."""
    unreadable: dict[Place, str] = {}
    for finding in findings:
        if finding.code in _UNREADABLE_VALUE_CODES:
            unreadable[finding.place] = max(finding.code, unreadable.get(finding.place, ""))
    return (finding for finding in findings if unreadable.get(finding.place, finding.code) == finding.code)
