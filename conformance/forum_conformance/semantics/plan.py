"""The wave plan of a ledger: whether it is valid (L401), and queries for the rules."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from forum_conformance import canonical, schemas
from forum_conformance.entry import Entry
from forum_conformance.semantics.violation import Violation, require

Value: TypeAlias = Mapping[str, Any]
Task: TypeAlias = Mapping[str, Any]


class Plan:
    """A wave plan that matches its schema. `read_plan` also checks its consistency."""

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

    def data_sources(self, task: str) -> set[str]:
        """The tasks that its data edges and its foreach take values from."""
        values = list(self.data_edges(task).values())
        if "foreach" in self.tasks[task]:
            values.append(self.tasks[task]["foreach"]["from"])
        return {source for value in values for source in sources(value)}

    def dependencies(self, task: str) -> set[str]:
        """The tasks that must end before the task starts."""
        ordered = {edge["task"] for edge in self._needs(task) if edge["edge"] == "order"}
        condition_sources = {
            source for condition in self.tasks[task].get("when", []) for source in sources(condition["from"])
        }
        return ordered | condition_sources | self.data_sources(task)

    def values(self) -> Iterator[Value]:
        """The value expressions of edges, conditions, foreaches and outputs."""
        for name, task in self.tasks.items():
            yield from self.data_edges(name).values()
            yield from (condition["from"] for condition in task.get("when", []))
            if "foreach" in task:
                yield task["foreach"]["from"]
        yield from self.outputs.values()

    def max_attempts(self, task: str) -> int:
        """The number of attempts at each step of the ladder."""
        retry = self.tasks[task].get("retry", self.policy["retry"])
        max_attempts: int = retry["attempts"]
        return max_attempts

    def _needs(self, task: str) -> list[Mapping[str, Any]]:
        needs: list[Mapping[str, Any]] = self.tasks[task].get("needs", [])
        return needs


def sources(value: Value) -> Iterator[str]:
    """The tasks that a value comes from."""
    return (task for _, task in source_references(value))


def source_references(value: Value) -> Iterator[tuple[str, str]]:
    """The tasks that a value comes from, each with the member that names it: `task` or `each`."""
    for member in ("task", "each"):
        if member in value:
            yield member, value[member]
    for part in value["object"].values() if "object" in value else value.get("list", []):
        yield from source_references(part)


def read_plan(data: bytes, opened: Entry) -> Plan:
    """The wave plan that the entry `run.opened` refers to. Raises a Violation (L401) if it is invalid."""
    try:
        document = canonical.read_form(data)
    except canonical.NotCanonical as error:
        raise Violation("L401", f"the wave plan is not in RFC 8785 form: {error}") from error
    with schemas.raised_recursion_limit():
        mismatch = schemas.schema_mismatch(schemas.wave_plan_validator(), document)
    require(mismatch is None, "L401", f"the wave plan does not match its schema {mismatch}")
    digested = {key: value for key, value in document.items() if key not in ("bundle", "digest")}
    recorded = opened["data"]
    digest, bundle = document["digest"], canonical.digest(canonical.form(document["bundle"]))
    require(
        digest == canonical.digest(canonical.form(digested)),
        "L401",
        "the wave plan's digest does not match its content",
    )
    require(digest == recorded["wave_plan"], "L401", "the entry's wave_plan is not the digest of the wave plan")
    require(bundle == recorded["bundle"], "L401", "the entry's bundle is not the digest of the bundle")
    plan = Plan(document)
    _check_names(plan)
    _check_sources(plan)
    _check_assignments(plan)
    _check_waves(plan)
    return plan


def _check_names(plan: Plan) -> None:
    adapters = plan.document["adapters"]
    for task in _referenced_tasks(plan):
        require(task in plan.tasks, "L401", f"the wave plan refers to the task '{task}', which it does not have")
    for agent in _referenced_agents(plan):
        require(agent in plan.agents, "L401", f"the wave plan refers to the agent '{agent}', which it does not have")
    for adapter in _referenced_adapters(plan):
        require(adapter in adapters, "L401", f"the wave plan refers to the adapter '{adapter}', which it does not have")


def _referenced_tasks(plan: Plan) -> Iterator[str]:
    for wave in plan.waves:
        yield from wave
    for task in plan.tasks:
        yield from plan.dependencies(task)
    for value in plan.outputs.values():
        yield from sources(value)


def _referenced_agents(plan: Plan) -> Iterator[str]:
    for task in plan.tasks.values():
        if "agent" in task:
            yield task["agent"]
        yield from (check["agent"] for check in task.get("accept", []) if "agent" in check)


def _referenced_adapters(plan: Plan) -> Iterator[str]:
    for agent in plan.agents.values():
        yield from agent["adapters"].values()
    for task in plan.tasks.values():
        yield from (step["adapter"] for step in task.get("ladder", []))


def _check_sources(plan: Plan) -> None:
    for value in plan.values():
        for member, task in source_references(value):
            has_foreach = "foreach" in plan.tasks[task]
            sentence = (
                f"a value refers to '{task}' by `{member}`, but the task has {'a' if has_foreach else 'no'} foreach"
            )
            require(has_foreach == (member == "each"), "L401", sentence)


def _check_assignments(plan: Plan) -> None:
    for name, task in plan.tasks.items():
        members = {"agent", "ladder", "lane"} & set(task)
        is_permitted = members in ({"agent", "ladder"}, {"lane"})
        require(is_permitted, "L401", f"task '{name}' needs either an agent and a ladder, or a lane")


def _check_waves(plan: Plan) -> None:
    tasks = [task for wave in plan.waves for task in wave]
    is_partition = len(tasks) == len(set(tasks)) and set(tasks) == set(plan.tasks)
    require(is_partition, "L401", "not every task is in exactly one wave")
    for task in plan.tasks:
        for other in plan.dependencies(task):
            is_later = plan.wave_of[task] > plan.wave_of[other]
            require(is_later, "L401", f"task '{task}' depends on '{other}', but is not in a later wave")
