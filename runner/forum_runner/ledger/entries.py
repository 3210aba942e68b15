"""Every kind of entry and its data, as typed values.

A test compares them with `schemas/v1/entry.schema.json`. An absent optional member is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from msgspec import Meta, field

from forum_runner.ledger.entry_values import (
    Actor,
    Amount,
    BodyName,
    BodyReference,
    BudgetResource,
    BudgetScope,
    CallError,
    CallStatus,
    CallUsage,
    Digest,
    EndReason,
    EntryValue,
    GateDecision,
    Implementation,
    ImportedRecords,
    Kind,
    Label,
    OutputName,
    PauseReason,
    PositiveInt,
    Reservation,
    ReservedResource,
    ReusedRun,
    RunId,
    RunMode,
    RunStatus,
    RunTotals,
    TaskCounts,
    TaskId,
    TaskState,
    TierName,
    Timestamp,
    TornTail,
    VerdictValue,
)
from forum_runner.ledger.layout import MAX_CAUSES

USER_PREFIX = "x-"
MAX_BODIES = 100


class EntryData(EntryValue, frozen=True):
    """The data of one kind of entry. `bodies` are the names of all bodies that an entry of this kind may have."""

    kind: ClassVar[str]
    bodies: ClassVar[frozenset[str]] = frozenset()
    required_bodies: ClassVar[frozenset[str]] = frozenset()

    def has_bodies(self, bodies: Mapping[str, object]) -> bool:
        """Whether an entry with these data has all bodies that it must have, and none that its data exclude."""
        return self.required_bodies <= bodies.keys()


class RunOpened(EntryData, frozen=True, kw_only=True):
    kind = "run.opened"
    bodies = frozenset({"wave_plan", "notice", "source"})

    bundle: Digest | None = None
    format: Literal[1]
    from_: ReusedRun | None = field(default=None, name="from")
    implementation: Implementation
    imported: ImportedRecords | None = None
    mode: RunMode
    wave_plan: Digest | None = None

    def __post_init__(self) -> None:
        if (self.bundle is None) != (self.wave_plan is None):
            raise ValueError("bundle and wave_plan are set together")
        if (self.imported is None) == (self.mode == "imported"):
            raise ValueError("imported is set if and only if the mode is 'imported'")
        if self.imported is not None and (self.wave_plan is not None or self.from_ is not None):
            raise ValueError("an import has neither a wave plan nor an origin")

    def has_bodies(self, bodies: Mapping[str, object]) -> bool:
        is_imported = self.imported is not None
        return (
            ("wave_plan" in bodies) == (self.wave_plan is not None)
            and ("notice" in bodies) == is_imported
            and ("source" not in bodies or is_imported)
        )


class RunPaused(EntryData, frozen=True):
    kind = "run.paused"

    reason: PauseReason


class RunResumed(EntryData, frozen=True):
    kind = "run.resumed"

    implementation: Implementation


class RunRepaired(EntryData, frozen=True):
    kind = "run.repaired"

    torn: Annotated[tuple[TornTail, ...], Meta(min_length=1, max_length=16)]


class RunSealed(EntryData, frozen=True):
    kind = "run.sealed"

    counts: TaskCounts
    root: Digest
    status: RunStatus
    totals: RunTotals


class WaveOpened(EntryData, frozen=True):
    kind = "wave.opened"

    wave: Amount


class RouteDecided(EntryData, frozen=True):
    kind = "route.decided"
    bodies = frozenset({"scores"})

    agent: Label
    by: Literal["keywords", "classifier", "only"]
    task: TaskId


class TaskExpanded(EntryData, frozen=True):
    kind = "task.expanded"
    bodies = required_bodies = frozenset({"items"})

    instances: Amount
    task: TaskId


class TaskStarted(EntryData, frozen=True):
    kind = "task.started"
    bodies = frozenset({"prompt"})

    adapter: Label
    agent: Label
    attempt: PositiveInt
    fingerprint: Digest
    reserved: Reservation
    task: TaskId
    tier: TierName


class TaskFinished(EntryData, frozen=True, kw_only=True):
    kind = "task.finished"
    bodies = frozenset({"output", "reply", "stderr", "detail"})

    attempt: PositiveInt
    error: CallError | None = None
    executable: Digest | None = None
    exit_status: Annotated[int, Meta(ge=-255, le=2**32 - 1)] | None = None
    measured: bool
    status: CallStatus
    task: TaskId
    usage: CallUsage

    def __post_init__(self) -> None:
        if (self.error is None) == (self.status == "error"):
            raise ValueError("error is set if and only if the status is 'error'")

    def has_bodies(self, bodies: Mapping[str, object]) -> bool:
        return ("output" in bodies) == (self.status == "ok")


class TaskLost(EntryData, frozen=True):
    kind = "task.lost"

    attempt: PositiveInt
    task: TaskId


class TaskReused(EntryData, frozen=True):
    kind = "task.reused"
    bodies = required_bodies = frozenset({"output"})

    fingerprint: Digest
    run: RunId
    seq: Amount
    source: Literal["cache", "from"]
    task: TaskId


class TaskEnded(EntryData, frozen=True, kw_only=True):
    kind = "task.ended"
    bodies = frozenset({"detail"})

    reason: EndReason | None = None
    state: TaskState
    task: TaskId

    def __post_init__(self) -> None:
        if (self.reason is None) != (self.state == "passed"):
            raise ValueError("reason is set unless the task passed")


class EdgeDelivered(EntryData, frozen=True):
    kind = "edge.delivered"
    bodies = required_bodies = frozenset({"value"})

    as_: Label = field(name="as")
    task: TaskId


class ContextCut(EntryData, frozen=True):
    kind = "context.cut"

    as_: Label = field(name="as")
    bytes: Amount
    kept_bytes: Amount
    task: TaskId


class GateOpened(EntryData, frozen=True, kw_only=True):
    kind = "gate.opened"
    bodies = required_bodies = frozenset({"displayed"})

    deadline: Timestamp | None = None
    task: TaskId


class GateDecided(EntryData, frozen=True):
    kind = "gate.decided"
    bodies = frozenset({"reason", "edited"})

    authenticated: bool
    by: Literal["person", "deadline"]
    decision: GateDecision
    displayed: Digest
    task: TaskId


class VerdictAsked(EntryData, frozen=True, kw_only=True):
    kind = "verdict.asked"
    bodies = frozenset({"prompt"})

    adapter: Label | None = None
    agent: Label | None = None
    attempt: PositiveInt
    by: Literal["command", "agent"]
    check: Amount
    reserved: Reservation
    task: TaskId
    tier: TierName | None = None

    def __post_init__(self) -> None:
        if {self.adapter is None, self.agent is None, self.tier is None} != {self.by != "agent"}:
            raise ValueError("adapter, agent and tier are set if and only if an agent is asked")


class VerdictGiven(EntryData, frozen=True, kw_only=True):
    kind = "verdict.given"
    bodies = frozenset({"reason", "reply", "detail"})

    attempt: PositiveInt
    by: Literal["schema", "command", "agent"]
    check: Amount
    error: CallError | None = None
    task: TaskId
    usage: CallUsage | None = None
    verdict: VerdictValue

    def __post_init__(self) -> None:
        if (self.error is None) == (self.verdict == "none"):
            raise ValueError("error is set if and only if the verdict is 'none'")
        if (self.usage is None) != (self.by == "schema"):
            raise ValueError("usage is set unless a schema decides")


class VerdictLost(EntryData, frozen=True):
    kind = "verdict.lost"

    attempt: PositiveInt
    check: Amount
    task: TaskId


class EscalationRaised(EntryData, frozen=True):
    kind = "escalation.raised"

    from_: TierName = field(name="from")
    task: TaskId
    to: TierName


class BudgetStopped(EntryData, frozen=True, kw_only=True):
    kind = "budget.stopped"

    amount: BudgetResource
    limit: Amount
    name: TaskId | None = None
    needed: Amount
    scope: BudgetScope
    used: Amount

    def __post_init__(self) -> None:
        if (self.name is None) != (self.scope == "run"):
            raise ValueError("name is set unless the budget is the run's")


class BudgetExceeded(EntryData, frozen=True):
    kind = "budget.exceeded"

    amount: ReservedResource
    attempt: PositiveInt
    reserved: Amount
    task: TaskId
    used: Amount


class AnswerGiven(EntryData, frozen=True):
    kind = "answer.given"
    bodies = required_bodies = frozenset({"value"})

    output: OutputName


class BodyRedacted(EntryData, frozen=True):
    kind = "body.redacted"
    bodies = required_bodies = frozenset({"reason"})

    body: Label
    digest: Digest


KINDS: Mapping[str, type[EntryData]] = {cls.kind: cls for cls in EntryData.__subclasses__()}
AFTER_A_SEAL = frozenset({BodyRedacted.kind, RunRepaired.kind, RunSealed.kind})

Data_co = TypeVar("Data_co", bound=EntryData | Mapping[str, Any], covariant=True)


class Entry(EntryValue, Generic[Data_co], frozen=True):
    """One line of a ledger. The data of a user kind is a mapping."""

    actor: Actor
    at: Timestamp
    bodies: Annotated[dict[BodyName, BodyReference], Meta(max_length=MAX_BODIES)]
    causes: Annotated[tuple[Amount, ...], Meta(max_length=MAX_CAUSES)]
    data: Data_co
    kind: Kind
    prev: Digest
    run: RunId
    seq: Amount
    v: Literal[1]


AnyEntry = Entry[EntryData | Mapping[str, Any]]


def may_follow_a_seal(kind: str) -> bool:
    """Whether entries of this kind are allowed after the first seal."""
    return kind in AFTER_A_SEAL or kind.startswith(USER_PREFIX)
