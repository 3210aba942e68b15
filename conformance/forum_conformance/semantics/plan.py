"""The wave plan of a ledger: whether it is valid (L401), and queries for the rules."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from forum_conformance import canonical, schemas
from forum_conformance.entry import Entry
from forum_conformance.semantics.violation import Violation, require

Value: TypeAlias = Mapping[str, Any]
Task: TypeAlias = Mapping[str, Any]


class Plan:
    """A wave plan that matches its schema. `check_plan` checks its consistency."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.tasks: Mapping[str, Task] = document["tasks"]
        self.agents: Mapping[str, Mapping[str, Any]] = document["agents"]
        self.policy: Mapping[str, Any] = document["policy"]
        self.outputs: Mapping[str, Value] = document["outputs"]
        self.waves: list[list[str]] = document["waves"]
        self.wave_of = {task: number for number, wave in enumerate(self.waves) for task in wave}

    def data_edges(self, task: str) -> dict[str, Value]:
        return {edge["as"]: edge["from"] for edge in self._needs(task) if edge["edge"] == "data"}

    def edge_names(self, task: str) -> set[str]:
        """The names of the values that a unit of the task receives: its data edges, and the item of a foreach."""
        fields = self.tasks[task]
        return set(self.data_edges(task)) | ({fields["foreach"]["as"]} if "foreach" in fields else set())

    def takes_values_from(self, task: str) -> set[str]:
        """The tasks that its data edges and its foreach take values from."""
        values = list(self.data_edges(task).values())
        if "foreach" in self.tasks[task]:
            values.append(self.tasks[task]["foreach"]["from"])
        return {source for value in values for source in sources(value)}

    def depends_on(self, task: str) -> set[str]:
        ordered = {edge["task"] for edge in self._needs(task) if edge["edge"] == "order"}
        condition_sources = {
            source for condition in self.tasks[task].get("when", []) for source in sources(condition["from"])
        }
        return ordered | condition_sources | self.takes_values_from(task)

    def values(self) -> Iterator[Value]:
        """The value expressions of edges, conditions, foreaches and outputs."""
        for name, task in self.tasks.items():
            yield from self.data_edges(name).values()
            yield from (condition["from"] for condition in task.get("when", []))
            if "foreach" in task:
                yield task["foreach"]["from"]
        yield from self.outputs.values()

    def attempts(self, task: str) -> int:
        retry = self.tasks[task].get("retry", self.policy["retry"])
        attempts: int = retry["attempts"]
        return attempts

    def _needs(self, task: str) -> list[Mapping[str, Any]]:
        needs: list[Mapping[str, Any]] = self.tasks[task].get("needs", [])
        return needs


def sources(value: Value) -> Iterator[str]:
    """The tasks that a value comes from."""
    return (task for _, task in named_sources(value))


def named_sources(value: Value) -> Iterator[tuple[str, str]]:
    """The tasks that a value comes from, each with how it is named: by `task`, or by `each`."""
    for how in ("task", "each"):
        if how in value:
            yield how, value[how]
    for part in value["object"].values() if "object" in value else value.get("list", []):
        yield from named_sources(part)


def read_plan(data: bytes, opened: Entry) -> Plan:
    try:
        document = canonical.read_form(data)
    except canonical.NotCanonical as error:
        raise Violation("L401", f"the wave plan is not in RFC 8785 form: {error}") from error
    with schemas.room_for_nesting():
        schema_mismatch = schemas.schema_mismatch(schemas.wave_plan_validator(), document)
    require(schema_mismatch is None, "L401", f"the wave plan does not match its schema {schema_mismatch}")
    without = {key: value for key, value in document.items() if key not in ("bundle", "digest")}
    facts = opened["data"]
    digest, bundle = document["digest"], canonical.digest(canonical.form(document["bundle"]))
    require(
        digest == canonical.digest(canonical.form(without)), "L401", "the wave plan's digest does not match its content"
    )
    require(digest == facts["wave_plan"], "L401", "the entry's wave_plan is not the digest of the wave plan")
    require(bundle == facts["bundle"], "L401", "the entry's bundle is not the digest of the bundle")
    plan = Plan(document)
    _check_names(plan)
    _check_sources(plan)
    _check_workers(plan)
    _check_waves(plan)
    return plan


def _check_names(plan: Plan) -> None:
    adapters = plan.document["adapters"]
    for task in _named_tasks(plan):
        require(task in plan.tasks, "L401", f"the wave plan refers to the task '{task}', which it does not have")
    for agent in _named_agents(plan):
        require(agent in plan.agents, "L401", f"the wave plan refers to the agent '{agent}', which it does not have")
    for adapter in _named_adapters(plan):
        require(adapter in adapters, "L401", f"the wave plan refers to the adapter '{adapter}', which it does not have")


def _named_tasks(plan: Plan) -> Iterator[str]:
    for wave in plan.waves:
        yield from wave
    for task in plan.tasks:
        yield from plan.depends_on(task)
    for value in plan.outputs.values():
        yield from sources(value)


def _named_agents(plan: Plan) -> Iterator[str]:
    for task in plan.tasks.values():
        if "agent" in task:
            yield task["agent"]
        yield from (check["agent"] for check in task.get("accept", []) if "agent" in check)


def _named_adapters(plan: Plan) -> Iterator[str]:
    for agent in plan.agents.values():
        yield from agent["adapters"].values()
    for task in plan.tasks.values():
        yield from (step["adapter"] for step in task.get("ladder", []))


def _check_sources(plan: Plan) -> None:
    for value in plan.values():
        for how, task in named_sources(value):
            is_each = "foreach" in plan.tasks[task]
            require(is_each == (how == "each"), "L401", f"the wave plan takes a value from '{task}' by `{how}`")


def _check_workers(plan: Plan) -> None:
    for name, task in plan.tasks.items():
        found = {"agent", "ladder", "lane"} & set(task)
        is_permitted = found in ({"agent", "ladder"}, {"lane"})
        require(is_permitted, "L401", f"task '{name}' needs either an agent and a ladder, or a lane")


def _check_waves(plan: Plan) -> None:
    placed = [task for wave in plan.waves for task in wave]
    is_partition = len(placed) == len(set(placed)) and set(placed) == set(plan.tasks)
    require(is_partition, "L401", "not every task is in exactly one wave")
    for task in plan.tasks:
        for other in plan.depends_on(task):
            is_later = plan.wave_of[task] > plan.wave_of[other]
            require(is_later, "L401", f"task '{task}' is not in a later wave than '{other}'")
