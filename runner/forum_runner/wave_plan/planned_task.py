"""A task of the wave plan, with the values that are derived from its fields."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import force_setattr

from forum_runner.wave_plan.plan_value import PlanValue

_NO_TASKS: frozenset[str] = frozenset()


class Placeholder(Struct, frozen=True, omit_defaults=True):
    """A part of a text that is filled in when a call is made. Exactly one field is set."""

    need: str | None = None
    run: Literal["id"] | None = None
    secret: str | None = None


PlanText = tuple[str | Placeholder, ...]
Argv = tuple[PlanText, ...]


class Rung(Struct, frozen=True):
    """A tier and its adapter: one step of the ladder that a task climbs when it escalates."""

    tier: str
    adapter: str


class RetryRule(Struct, frozen=True):
    attempts: int
    backoff_ms: int
    max_backoff_ms: int


class DataEdge(Struct, frozen=True, tag_field="edge", tag="data"):
    """Delivers `value` as `name`.

    The value must match the schemas in `expects`, which are digests. A prompt contains at most `max_bytes` of it.
    """

    name: str = field(name="as")
    value: PlanValue = field(name="from")
    expects: tuple[str, ...] = ()
    max_bytes: int | None = None


class OrderEdge(Struct, frozen=True, tag_field="edge", tag="order"):
    task: str


class Condition(Struct, frozen=True):
    value: PlanValue = field(name="from")
    schema: str = field(name="matches")


class ForeachRule(Struct, frozen=True):
    value: PlanValue = field(name="from")
    name: str = field(name="as")
    max: int


class GateRule(Struct, frozen=True):
    question: PlanText
    on_deadline: Literal["approve", "reject"]
    deadline_ms: int | None = None

    @property
    def deadline_decision(self) -> str:
        return "approved" if self.on_deadline == "approve" else "rejected"


class Check(Struct, frozen=True, omit_defaults=True):
    """A check of an output, by an agent, a command or a schema. Exactly one field is set."""

    agent: str | None = None
    command: Argv | None = None
    schema: str | None = None

    @property
    def by(self) -> str:
        if self.schema is not None:
            return "schema"
        return "agent" if self.command is None else "command"


class TaskWork(Struct, frozen=True, omit_defaults=True):
    """The fields that define a task's work. The other fields say when, how often and by whom it is done."""

    accept: tuple[Check, ...] | None = None
    done_when: tuple[PlanText, ...] | None = None
    instruction: PlanText | None = None
    output: str | None = None
    run: Argv | None = None


class PlannedTask(Struct, frozen=True, kw_only=True):
    """A task. If several tasks can start, the one with the lowest `order` starts first.

    `retry` comes from the policy unless the task has its own, and `is_sensitive` is set if either sets it.

    The last five fields are derived from the others: `checks` from `accept`, and `edges` are the data edges among
    `needs`. `sources` are the tasks that deliver data to it. `read_from` adds the tasks that its conditions read, and
    `depends_on` adds the tasks of its order edges.
    """

    id: str
    wave: int
    order: int
    retry: RetryRule
    is_sensitive: bool = field(name="sensitive", default=False)
    agent: str | None = None
    lane: str | None = None
    ladder: tuple[Rung, ...] = ()
    escalate: tuple[str, ...] = ()
    instruction: PlanText | None = None
    run: Argv | None = None
    done_when: tuple[PlanText, ...] | None = None
    accept: tuple[Check, ...] | None = None
    output: str | None = None
    needs: tuple[DataEdge | OrderEdge, ...] = ()
    conditions: tuple[Condition, ...] = field(name="when", default=())
    foreach: ForeachRule | None = None
    gate: GateRule | None = None
    budget: dict[str, int] | None = None
    allows_failure: bool = field(name="allow_failure", default=False)
    is_idempotent: bool = field(name="idempotent", default=False)
    uses_cache: bool = field(name="cache", default=False)
    checks: tuple[Check, ...] = ()
    edges: tuple[DataEdge, ...] = ()
    sources: frozenset[str] = _NO_TASKS
    read_from: frozenset[str] = _NO_TASKS
    depends_on: frozenset[str] = _NO_TASKS

    def __post_init__(self) -> None:
        if self.accept:
            force_setattr(self, "checks", self.accept)
        if not self.needs and not self.conditions and self.foreach is None:
            return
        edges = tuple([need for need in self.needs if isinstance(need, DataEdge)])
        values = [edge.value for edge in edges]
        if self.foreach is not None:
            values.append(self.foreach.value)
        sources = frozenset([name for value in values for name in value.tasks()])
        condition_tasks = [name for condition in self.conditions for name in condition.value.tasks()]
        read_from = sources.union(condition_tasks) if condition_tasks else sources
        order_tasks = [need.task for need in self.needs if isinstance(need, OrderEdge)]
        force_setattr(self, "edges", edges)
        force_setattr(self, "sources", sources)
        force_setattr(self, "read_from", read_from)
        force_setattr(self, "depends_on", read_from.union(order_tasks) if order_tasks else read_from)

    def origin_of(self, name: str) -> str:
        """The ids of the tasks that the data `name` comes from, separated by commas."""
        value = next((edge.value for edge in self.edges if edge.name == name), self.foreach and self.foreach.value)
        return ",".join(sorted(set(value.tasks()))) if value else ""

    def texts(self) -> tuple[PlanText, ...]:
        """The texts that may have placeholders: the instruction, the arguments of the command, and the criteria."""
        return (self.instruction or (), *(self.run or ()), *(self.done_when or ()))

    def work(self, edited: str | None = None) -> bytes:
        """The work in RFC 8785 form, for the fingerprint. `edited`, if given, replaces the instruction."""
        instruction = self.instruction if edited is None else (edited,)
        work = TaskWork(self.accept, self.done_when, instruction, self.output, self.run)
        # No conversion is needed: there are no floats, keys are ASCII, and structs declare fields alphabetically.
        return msgspec.json.encode(work)
