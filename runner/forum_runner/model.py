"""The content of manifests as values: roster, policy, plan.

Durations are in milliseconds, money is in millionths of a US dollar. Invalid fields are left out (None or empty), so
that one error does not hide another. A model with errors is never executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from forum_runner.document import Origin


class Tier(StrEnum):
    """A tier of adapters. The members are in the order of escalation."""

    CHEAP = "cheap"
    CAPABLE = "capable"
    FRONTIER = "frontier"

    @property
    def rank(self) -> int:
        return list(Tier).index(self)


class EdgeKind(StrEnum):
    DATA = "data"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class Reference:
    """`${{ namespace.name }}`; `source` is its text in the manifest."""

    namespace: str
    name: str
    source: str = ""


Text = tuple["str | Reference", ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A user's self-contained JSON Schema, and the digest of its RFC 8785 bytes."""

    digest: str
    value: Any = field(compare=False)


@dataclass(frozen=True, slots=True)
class Budget:
    origin: Origin | None = None
    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: int | None = None
    micro_usd: int | None = None
    wall_ms: int | None = None
    output_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    attempts: int = 1
    backoff_ms: int = 1_000
    max_backoff_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in micro-dollars per million tokens."""

    input: int
    cached_input: int
    output: int


@dataclass(frozen=True, slots=True)
class RosterAdapter:
    """An adapter of a roster. `settings` are its fields in the wave plan."""

    origin: Origin
    name: str
    type: str
    settings: Mapping[str, Any]
    argv: tuple[str, ...] | None = None
    base_url: str | None = None
    env: tuple[str, ...] = ()
    env_fields: Mapping[str, str] = field(default_factory=dict)
    prices: Prices | None = None

    @property
    def runs_programs(self) -> bool:
        """Whether the adapter runs the program in a task's `run`. Other adapters take an `instruction`."""
        return self.type == "command" and self.argv is None

    @property
    def is_free(self) -> bool:
        """Whether calls are free. Without prices, scripts and tasks' programs are free, but model commands are not."""
        return self.prices is None and (self.type == "scripted" or self.runs_programs)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of a roster. It `is_tiered` if the roster sets `adapters` by tier instead of one `adapter`."""

    origin: Origin
    name: str
    tier: Tier
    adapters: Mapping[Tier, str]
    is_tiered: bool = False
    domain: str | None = None
    keywords: tuple[str, ...] = ()
    persona: str | None = None
    limits: Budget | None = None


@dataclass(frozen=True, slots=True)
class Roster:
    adapters: Mapping[str, RosterAdapter]
    agents: Mapping[str, Agent]


@dataclass(frozen=True, slots=True)
class Allow:
    """The names that a policy allows; `*` allows all. By default, no data leaves the machine and no program runs."""

    agents: tuple[str, ...] = ("*",)
    adapters: tuple[str, ...] = ("*",)
    commands: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("127.0.0.1", "[::1]", "localhost")
    env: tuple[str, ...] = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ")


@dataclass(frozen=True, slots=True)
class Rate:
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    origin: Origin
    max_parallel: int = 4
    dispatch: str = "waves"
    budget: Budget = field(default_factory=Budget)
    allow: Allow = field(default_factory=Allow)
    retry: Retry = field(default_factory=Retry)
    rates: Mapping[str, Rate] = field(default_factory=dict)
    on_failure: str = "stop"
    on_lost: str = "fail"
    sensitive: bool = False
    scrub_env: tuple[str, ...] = ()
    durability: str = "batch"
    engine: str = "local"


@dataclass(frozen=True, slots=True)
class OutputSelection:
    """Selects a value from a task's output: an edge, a condition, a foreach or a plan's output.

    `select` is a pointer into the output. `matrix` selects instances by axis; its values may be templates.
    """

    origin: Origin
    task: str
    select: str = ""
    matrix: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need(OutputSelection):
    """An edge. `data_fields` are the fields in the manifest that only data edges can have."""

    kind: EdgeKind = EdgeKind.DATA
    name: str
    expects: Schema | None = None
    max_bytes: int | None = None
    data_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Accept:
    """A check of a task's result; exactly one of the three fields is set."""

    origin: Origin
    schema: Schema | None = None
    command: tuple[Text, ...] | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    question: Text
    deadline_ms: int | None = None
    on_deadline: str = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class When(OutputSelection):
    output: Schema | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreach(OutputSelection):
    name: str
    max: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a plan. Exactly one of `agent`, `lane` and `uses` is set."""

    origin: Origin
    id: str
    agent: str | None = None
    lane: str | None = None
    uses: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    instruction: Text | None = None
    run: tuple[Text, ...] | None = None
    needs: tuple[Need, ...] = ()
    output: Schema | None = None
    done_when: tuple[Text, ...] = ()
    accept: tuple[Accept, ...] = ()
    retry: Retry | None = None
    escalate: tuple[Tier, ...] = ()
    budget: Budget | None = None
    gate: Gate | None = None
    when: When | None = None
    matrix: Mapping[str, tuple[Any, ...]] | None = None
    foreach: Foreach | None = None
    allow_failure: bool = False
    idempotent: bool = False
    sensitive: bool = False
    cache: bool = False

    @property
    def selections(self) -> tuple[OutputSelection, ...]:
        """The edges, the condition and the foreach, which select values from other tasks."""
        if self.when is None and self.foreach is None:
            return self.needs
        return (*self.needs, *(item for item in (self.when, self.foreach) if item is not None))


@dataclass(frozen=True, slots=True)
class PlanInput:
    origin: Origin
    name: str
    schema: Schema | None
    has_default: bool = False
    default: Any = None
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    origin: Origin
    inputs: Mapping[str, PlanInput]
    tasks: Mapping[str, Task]
    outputs: Mapping[str, OutputSelection]


@dataclass(frozen=True, slots=True)
class ScriptAnswer:
    """An answer of a script: the fields that the compiler checks, and the whole mapping (`declaration`)."""

    origin: Origin
    task: str | None
    agent: str | None
    declaration: Mapping[str, Any] = field(default_factory=dict, compare=False)
