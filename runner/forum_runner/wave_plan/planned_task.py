"""A task of the wave plan, with everything derived from its fields."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import force_setattr

from forum_runner.wave_plan.plan_value import PlanValue

_NOTHING: frozenset[str] = frozenset()


class Placeholder(Struct, frozen=True, omit_defaults=True):
    """A part of a text that is filled in when a call is made. One of the three is set."""

    need: str | None = None
    run: Literal["id"] | None = None
    secret: str | None = None


PlanText = tuple[str | Placeholder, ...]
Argv = tuple[PlanText, ...]


class Rung(Struct, frozen=True):
    """A step of the ladder that a task climbs."""

    tier: str
    adapter: str


class RetryRule(Struct, frozen=True):
    attempts: int
    backoff_ms: int
    max_backoff_ms: int


class DataEdge(Struct, frozen=True, tag_field="edge", tag="data"):
    """Delivers `value` as `name`. It must match the schemas in `expects`; a prompt gets at most `max_bytes` of it."""

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
    """By a schema, a command or an agent; one of the three is set."""

    agent: str | None = None
    command: Argv | None = None
    schema: str | None = None

    @property
    def by(self) -> str:
        if self.schema is not None:
            return "schema"
        return "agent" if self.command is None else "command"


class TaskWork(Struct, frozen=True, omit_defaults=True):
    """What a task does. Its other fields say how often, when or by whom it is done."""

    accept: tuple[Check, ...] | None = None
    done_when: tuple[PlanText, ...] | None = None
    instruction: PlanText | None = None
    output: str | None = None
    run: Argv | None = None


class PlannedTask(Struct, frozen=True, kw_only=True):
    """If two tasks could start, the one with the lower `order` does.

    `sources` are the tasks whose data it gets. `read_from` adds the tasks that its conditions read, and `depends_on`
    all other tasks that come before it. `retry` and `is_sensitive` are the policy's, unless the task has its own.
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
    sources: frozenset[str] = _NOTHING
    read_from: frozenset[str] = _NOTHING
    depends_on: frozenset[str] = _NOTHING

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
        read = [name for condition in self.conditions for name in condition.value.tasks()]
        read_from = sources.union(read) if read else sources
        ordered = [need.task for need in self.needs if isinstance(need, OrderEdge)]
        force_setattr(self, "edges", edges)
        force_setattr(self, "sources", sources)
        force_setattr(self, "read_from", read_from)
        force_setattr(self, "depends_on", read_from.union(ordered) if ordered else read_from)

    def origin_of(self, name: str) -> str:
        """The tasks that the data of this name comes from."""
        value = next((edge.value for edge in self.edges if edge.name == name), self.foreach and self.foreach.value)
        return ",".join(sorted(set(value.tasks()))) if value else ""

    def texts(self) -> tuple[PlanText, ...]:
        """The texts of its prompts."""
        return (self.instruction or (), *(self.run or ()), *(self.done_when or ()))

    def work(self, edited: str | None = None) -> bytes:
        """The work as the fingerprint uses it. `edited` replaces the instruction."""
        instruction = self.instruction if edited is None else (edited,)
        work = TaskWork(self.accept, self.done_when, instruction, self.output, self.run)
        # RFC 8785: no floats, ASCII keys only, and all structs declare their fields in alphabetical order.
        return msgspec.json.encode(work)
