"""Expands a plan: inlines used plans, multiplies out matrices, and resolves references to known values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_runner.compile import matrix, task_document
from forum_runner.compile.inputs import check_argument
from forum_runner.compile.project import MAX_EDGES, MAX_TEXT_CHARACTERS, Project
from forum_runner.compile.references import (
    nested_references,
    partial_reference_finding,
    task_texts,
    text_references,
    whole_reference,
)
from forum_runner.compile.scope import Binding, EdgeInput, KnownInput, PlanScope, RunPropertyInput, UnsetInput
from forum_runner.compile.value_source import ValueSource, final_tasks, tasks_in, value_source
from forum_runner.finding import ManifestFinding, Place
from forum_runner.model import EdgeKind, OutputSelection, Plan, PlanInput, Task


@dataclass(frozen=True, slots=True)
class ExpandedTask:
    """A task of the wave plan, and the ids of the tasks that it depends on."""

    document: dict[str, Any]
    upstreams: tuple[str, ...]


@dataclass(slots=True)
class ExpandedPlan:
    """All tasks by id, the plan's outputs, the schemas by digest, and the findings of the expansion.

    `edges` and `characters` count edges and characters of text, which are limited.
    """

    tasks: dict[str, ExpandedTask] = field(default_factory=dict)
    outputs: dict[str, ValueSource] = field(default_factory=dict)
    schemas: dict[str, Any] = field(default_factory=dict)
    findings: list[ManifestFinding] = field(default_factory=list)
    edges: int = 0
    characters: int = 0

    @property
    def excess(self) -> str | None:
        """The limit that the plan exceeds, as text; None if it exceeds no limit."""
        if self.edges > MAX_EDGES:
            return f"{MAX_EDGES:,} edges"
        return f"{MAX_TEXT_CHARACTERS:,} characters of text" if self.characters > MAX_TEXT_CHARACTERS else None


def expand(project: Project, bindings: Mapping[str, Binding]) -> ExpandedPlan:
    """Expands the root plan. The project must have no errors."""
    expander = _Expander(project, ExpandedPlan())
    expander.expand(PlanScope(project.root, "", bindings))
    result = expander.result
    for name, output in project.root.outputs.items():
        result.outputs[name] = value_source(project, project.root, "", output, matrix.literal_values(output.matrix))
    return result


@dataclass(slots=True)
class _Expander:
    project: Project
    result: ExpandedPlan
    reported: set[Place] = field(default_factory=set)

    def expand(self, scope: PlanScope) -> None:
        for name, task in sorted(scope.plan.tasks.items()):
            for suffix, values in self.project.instances(task):
                if self.result.excess:
                    return
                inner = self.project.used_plan(task)
                if inner is not None:
                    self._expand_used_plan(task, inner, scope, scope.prefix + name + suffix, values)
                else:
                    self._add_task(task, scope, scope.prefix + name + suffix, values)

    def _expand_used_plan(self, task: Task, inner: Plan, scope: PlanScope, id_: str, values: Mapping[str, Any]) -> None:
        bindings = {
            name: self._bind_argument(task, declared, scope, values) for name, declared in sorted(inner.inputs.items())
        }
        needed = [upstream for need in task.needs for upstream in self._upstream_ids(need, scope, values)]
        upstreams = tuple(dict.fromkeys(needed)) if task.needs else scope.upstreams
        conditions = (*scope.conditions, *self._conditions(task, scope, values))
        self.expand(PlanScope(inner, id_ + "/", bindings, upstreams, conditions))

    def _bind_argument(self, task: Task, declared: PlanInput, scope: PlanScope, values: Mapping[str, Any]) -> Binding:
        if declared.name not in task.arguments:
            return KnownInput(declared.default)
        argument = task.arguments[declared.name]
        reference = whole_reference(argument)
        if reference and reference.namespace == "needs":
            need = next(n for n in task.needs if n.kind is EdgeKind.DATA and n.name == reference.name)
            expects = tuple(schema for schema in (need.expects, declared.schema) if schema is not None)
            return EdgeInput(self._value_source(need, scope, values), expects, need.max_bytes)
        if reference and reference.namespace == "run":
            return RunPropertyInput(reference.name)
        if reference and reference.namespace == "inputs":
            binding = scope.bindings[reference.name]
            if isinstance(binding, EdgeInput):
                own_schema = (declared.schema,) if declared.schema is not None else ()
                return EdgeInput(binding.value, (*binding.expects, *own_schema), binding.max_bytes)
            if not isinstance(binding, KnownInput):
                return binding
        origin = task.origin.at("with", declared.name)
        for reference, binding in scope.input_bindings(nested_references(argument)):
            if not isinstance(binding, KnownInput):
                self._report(() if isinstance(binding, UnsetInput) else [partial_reference_finding(reference, origin)])
                return UnsetInput()
        value = scope.fill(argument, values)
        self._report(check_argument(declared, value, origin))
        return KnownInput(value)

    def _report(self, findings: Iterable[ManifestFinding]) -> None:
        """Adds at most one finding per place. Other instances of a matrix would only repeat it."""
        for finding in findings:
            if finding.place not in self.reported:
                self.reported.add(finding.place)
                self.result.findings.append(finding)

    def _add_task(self, task: Task, scope: PlanScope, id_: str, values: Mapping[str, Any]) -> None:
        document = task_document.plain_fields(task, self.project)
        self._collect_schemas(task)
        conditions = [*scope.conditions, *self._conditions(task, scope, values)]
        if conditions:
            document["when"] = conditions
        needs, upstreams = self._edges(task, scope, values, conditions)
        if needs:
            document["needs"] = needs
        if task.foreach:
            source = self._value_source(task.foreach, scope, values)
            document["foreach"] = {"from": source, "as": task.foreach.name, "max": task.foreach.max}
            upstreams = (*upstreams, *tasks_in(source))
        if values:
            document["matrix"] = dict(values)
        if task.instruction is not None:
            document["instruction"] = scope.fill_text(task.instruction, values)
            self.result.characters += sum(map(len, document["instruction"]))
        if task.run is not None:
            document["run"] = [scope.fill_text(text, values) for text in task.run]
            self.result.characters += sum(len(part) for text in document["run"] for part in text)
        if task.done_when:
            document["done_when"] = [scope.fill_text(text, values) for text in task.done_when]
        if task.accept:
            document["accept"] = task_document.accept_documents(task, lambda text: scope.fill_text(text, values))
        if task.gate is not None:
            document["gate"] = task_document.gate_document(task.gate, scope.fill_text(task.gate.question, values))
        self.result.edges += len(upstreams)
        self.result.tasks[id_] = ExpandedTask(document, upstreams)

    def _edges(
        self, task: Task, scope: PlanScope, values: Mapping[str, Any], conditions: list[dict[str, Any]]
    ) -> tuple[list[Any], tuple[str, ...]]:
        """The order edges by task, then the data edges by name; and the ids of their upstream tasks.

        The first tasks of a used plan also depend on the upstreams of the plan. Each task depends on the tasks of its
        conditions. The upstream of a `foreach` is not included.
        """
        order_ids = set(scope.upstreams) if not task.needs and not task.foreach else set()
        data: dict[str, dict[str, Any]] = {}
        for need in task.needs:
            if need.kind is EdgeKind.ORDER:
                order_ids |= set(self._upstream_ids(need, scope, values))
            else:
                expects = (need.expects,) if need.expects is not None else ()
                value = self._value_source(need, scope, values)
                data[need.name] = task_document.data_edge(need.name, value, expects, need.max_bytes)
        if scope.has_edge_inputs:
            data |= self._input_edges(task, scope)
        if not order_ids and not data and not conditions:
            return [], ()
        data_ids = {id_ for edge in data.values() for id_ in tasks_in(edge["from"])}
        order_ids |= {id_ for condition in conditions for id_ in tasks_in(condition["from"])} - data_ids
        order = sorted(order_ids)
        edges = [{"edge": "order", "task": id_} for id_ in order] + [data[name] for name in sorted(data)]
        return edges, (*order, *sorted(data_ids))

    def _input_edges(self, task: Task, scope: PlanScope) -> dict[str, dict[str, Any]]:
        names = {r.name for text, _ in task_texts(task) for r in text_references(text) if r.namespace == "inputs"}
        edges = {}
        for name in names:
            binding = scope.bindings[name]
            if isinstance(binding, EdgeInput):
                self.result.schemas |= {schema.digest: schema.value for schema in binding.expects}
                edge = task_document.data_edge(f"inputs.{name}", binding.value, binding.expects, binding.max_bytes)
                edges[f"inputs.{name}"] = edge
        return edges

    def _conditions(self, task: Task, scope: PlanScope, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        if task.when is None or task.when.output is None:
            return []
        schema = task.when.output
        self.result.schemas[schema.digest] = schema.value
        source = self._value_source(task.when, scope, values)
        return [{"from": source, "matches": schema.digest}]

    def _value_source(self, selection: OutputSelection, scope: PlanScope, values: Mapping[str, Any]) -> ValueSource:
        selected = self._selected_values(selection, scope, values)
        return value_source(self.project, scope.plan, scope.prefix, selection, selected)

    def _upstream_ids(self, need: OutputSelection, scope: PlanScope, values: Mapping[str, Any]) -> list[str]:
        return final_tasks(
            self.project, scope.plan, scope.prefix, need.task, self._selected_values(need, scope, values)
        )

    def _selected_values(
        self, selection: OutputSelection, scope: PlanScope, values: Mapping[str, Any]
    ) -> dict[str, str]:
        """The selected value on each axis. Axes whose value is unknown at compile time or missing are left out."""
        selected = {}
        for axis, value in selection.matrix.items():
            if not isinstance(value, tuple):
                selected[axis] = matrix.as_text(value)
                continue
            origin = selection.origin.at("matrix", axis)
            unknown = [b for _, b in scope.input_bindings(text_references(value)) if not isinstance(b, KnownInput)]
            if unknown:
                message = f"axis '{axis}' is selected by a value that is not known at compile time"
                self._report([] if isinstance(unknown[0], UnsetInput) else [origin.finding("F307", message)])
                continue
            text = "".join(str(part) for part in scope.fill_text(value, values))
            problems = list(matrix.check_value(scope.plan.tasks[selection.task], axis, text, origin))
            self._report(problems)
            if not problems:
                selected[axis] = text
        return selected

    def _collect_schemas(self, task: Task) -> None:
        if not (task.output or task.needs or task.accept):
            return
        schemas = [task.output, *(need.expects for need in task.needs), *(check.schema for check in task.accept)]
        self.result.schemas |= {schema.digest: schema.value for schema in schemas if schema is not None}
