"""The history of a task, or of one instance of a task with a `foreach`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forum_runner.history.usage import UsageTotals
from forum_runner.ledger.read_entry import ReadEntry


@dataclass(slots=True)
class RecordedDecision:
    """A decision at a gate. `by` is 'person' or 'deadline'. `reason` is the reference to the body with the reason.

    `is_edited` is True if the decision replaced the task's instruction.
    """

    decision: str
    by: str | None = None
    actor: str | None = None
    is_authenticated: bool = False
    is_edited: bool = False
    reason: Mapping[str, Any] | None = None


@dataclass(slots=True)
class GateHistory:
    """The gate of a task. `opened` is the entry that opened it, if the ledger has that entry."""

    opened: ReadEntry | None = None
    decision: RecordedDecision | None = None


class TruncatedInput(NamedTuple):
    """An input that was truncated, because it was longer than the `max_bytes` of its edge."""

    name: str
    kept_bytes: int
    total_bytes: int


@dataclass(slots=True)
class TaskHistory:
    """The state of a task after some of its entries.

    `end_state` is set once the task has ended; until then, `latest` is the last entry about it. `instances` is the
    number of instances, once a task with `foreach` is expanded. `reused_from` is the run from which the result was
    reused. `reserved` has the amounts that the open call may use; it is None if no call is open. `failure` is the last
    entry that reports a failure, unless the task has recovered from it.
    """

    id: str
    is_instance: bool = False
    end_state: str | None = None
    reason: str | None = None
    attempts: int = 0
    agent: str | None = None
    tier: str | None = None
    adapter: str | None = None
    usage: UsageTotals = field(default_factory=UsageTotals)
    verdicts: Counter[str] = field(default_factory=Counter)
    escalations: tuple[tuple[str, str], ...] = ()
    gate: GateHistory | None = None
    instances: int | None = None
    reused_from: str | None = None
    output: Mapping[str, Any] | None = None
    reserved: Mapping[str, Any] | None = None
    truncated: tuple[TruncatedInput, ...] = ()
    failure: ReadEntry | None = None
    latest: ReadEntry | None = None

    @property
    def state(self) -> str:
        if self.end_state is not None:
            return self.end_state
        if self.is_working:
            return "running"
        return "waiting" if self.is_waiting else "started"

    @property
    def is_working(self) -> bool:
        """Whether a call of the task is open."""
        return self.reserved is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the task waits for a decision at its gate."""
        return self.end_state is None and self.gate is not None and self.gate.decision is None

    @property
    def is_retried(self) -> bool:
        """Whether an attempt failed and another one follows or is in progress."""
        failure = self.failure
        if self.end_state is not None or failure is None:
            return False
        return failure.kind in ("task.finished", "task.lost") or failure.data.get("verdict") == "fail"
