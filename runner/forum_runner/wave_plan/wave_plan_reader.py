"""Reads the document of a wave plan into frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import orjson
from msgspec import UNSET, Struct, convert, field

from forum_runner.wave_plan.plan_value import PlanValue, read_value
from forum_runner.wave_plan.planned_task import PlannedTask, RetryRule, Rung

# The limit of each resource, by name: calls, tokens, micro_usd ...
BudgetLimits = dict[str, int]
# The settings of an adapter, as in the plan. Each adapter type has its own.
AdapterSettings = Mapping[str, Any]
JsonSchema = Mapping[str, Any] | bool

_COMMAND = "command"


class TokenPrices(Struct, frozen=True):
    """Millionths of a dollar per million tokens."""

    input: int = 0
    cached_input: int = 0
    output: int = 0

    def cost(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> int:
        """The cost of a call in millionths of a dollar, rounded up."""
        cached = min(cached_tokens, input_tokens)
        total = (input_tokens - cached) * self.input + cached * self.cached_input + output_tokens * self.output
        return -(-total // 1_000_000)


NO_PRICES = TokenPrices()


class PlannedAdapter(Struct, frozen=True, kw_only=True):
    """An adapter. The fields are the settings that the runner itself uses; `settings` has all of them."""

    type: str
    settings: AdapterSettings
    model: str | None = None
    timeout_ms: int | None = None
    max_tokens: int | None = None
    max_output_bytes: int | None = None
    prices: TokenPrices = NO_PRICES
    argv: tuple[str, ...] | None = None
    stdin: Literal["text", "json", "none"] = "text"

    @property
    def is_program(self) -> bool:
        return self.type == _COMMAND

    @property
    def takes_instructions(self) -> bool:
        """Whether the adapter can follow a task's instruction. A program without `argv` can only execute `run`."""
        return not self.is_program or self.argv is not None


class PlannedAgent(Struct, frozen=True):
    tier: str
    adapters: dict[str, str]
    domain: str = ""
    keywords: tuple[str, ...] = ()
    persona: str = ""
    limits: BudgetLimits | None = None

    @property
    def own_rung(self) -> Rung:
        """The tier and adapter that the agent uses as a judge."""
        return Rung(self.tier, self.adapters[self.tier])


class PlannedInput(Struct, frozen=True):
    schema: str
    value: Any = UNSET
    is_secret: bool = field(name="secret", default=False)


class PrivacyRule(Struct, frozen=True):
    is_sensitive: bool = field(name="sensitive")
    scrub_env: tuple[str, ...]


class PlannedPolicy(Struct, frozen=True):
    max_parallel: int
    dispatch: Literal["waves", "eager"]
    budget: BudgetLimits
    allow: dict[str, tuple[str, ...]]
    retry: RetryRule
    rates: dict[str, dict[str, int]]
    on_failure: Literal["stop", "skip-dependents", "continue"]
    privacy: PrivacyRule
    durability: Literal["each", "batch", "none"]
    on_lost: Literal["fail", "retry"] = "fail"
    engine: str = "local"

    @property
    def uses_waves(self) -> bool:
        return self.dispatch == "waves"


class PlanMetadata(Struct, frozen=True):
    name: str
    description: str = ""


class PlannedFile(Struct, frozen=True):
    path: str
    digest: str
    bytes: int


class WavePlan(Struct, frozen=True, kw_only=True):
    """A wave plan. `tasks` are in the order of the waves.

    `output_pointers` has, for each task that `outputs` depend on, the pointers to the selected parts of its output.
    """

    digest: str
    metadata: PlanMetadata
    bundle: tuple[PlannedFile, ...]
    policy: PlannedPolicy
    adapters: dict[str, PlannedAdapter]
    agents: dict[str, PlannedAgent]
    inputs: dict[str, PlannedInput]
    schemas: dict[str, JsonSchema]
    waves: tuple[tuple[str, ...], ...]
    outputs: dict[str, PlanValue]
    output_pointers: dict[str, list[str]]
    tasks: dict[str, PlannedTask]

    def ladder_of(self, task: PlannedTask, agent: str) -> tuple[Rung, ...]:
        """The ladder of a task: its own or, if the task has a lane, the ladder of the agent that it was routed to."""
        if task.ladder:
            return task.ladder
        tier, adapters = self.agents[agent].tier, self.agents[agent].adapters
        return tuple(Rung(name, adapters[name]) for name in (tier, *task.escalate) if name in adapters)

    def is_model(self, adapter: str | None) -> bool:
        """Whether the adapter of a call is a model and not a program. A check by a command has no adapter."""
        return adapter is not None and not self.adapters[adapter].is_program

    def secret_names(self) -> list[str]:
        return [name for name, item in self.inputs.items() if item.is_secret]


def decode_wave_plan(data: bytes) -> WavePlan:
    return read_wave_plan(orjson.loads(data))


def read_wave_plan(document: Mapping[str, Any]) -> WavePlan:
    """The wave plan of a document that matches its schema, and whose waves contain every task once."""
    policy = convert(document["policy"], PlannedPolicy)
    defaults: dict[str, Any] = {"retry": policy.retry}
    overrides: dict[str, Any] = {"sensitive": True} if policy.privacy.is_sensitive else {}
    tasks: dict[str, PlannedTask] = {}
    for number, wave in enumerate(document["waves"]):
        for id_ in wave:
            place = {"id": id_, "wave": number, "order": len(tasks)}
            fields = {**defaults, **document["tasks"][id_], **overrides, **place}
            tasks[id_] = convert(fields, PlannedTask, dec_hook=lambda _type, value: read_value(value))
    outputs = {name: read_value(value) for name, value in document["outputs"].items()}
    return WavePlan(
        digest=document["digest"],
        metadata=convert(document["metadata"], PlanMetadata),
        bundle=convert(document["bundle"], tuple[PlannedFile, ...]),
        policy=policy,
        adapters={
            name: convert({**settings, "settings": settings}, PlannedAdapter)
            for name, settings in document["adapters"].items()
        },
        agents=convert(document["agents"], dict[str, PlannedAgent]),
        inputs=convert(document["inputs"], dict[str, PlannedInput]),
        schemas=document["schemas"],
        waves=convert(document["waves"], tuple[tuple[str, ...], ...]),
        outputs=outputs,
        output_pointers=_pointers(outputs),
        tasks=tasks,
    )


def _pointers(outputs: Mapping[str, PlanValue]) -> dict[str, list[str]]:
    pointers: dict[str, list[str]] = {}
    for value in outputs.values():
        for source in value.sources():
            pointers.setdefault(source.task, []).append(source.pointer)
    return pointers
