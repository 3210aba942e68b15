"""A unit of work: a task without a `foreach`, or one instance of a task with it."""

from __future__ import annotations

from dataclasses import dataclass

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine.budgets import Shortage
from forum_runner.execute.machine.prompt_renderer import DeliveredValue, Feedback
from forum_runner.execute.machine.task_output import Output
from forum_runner.ledger.recorded_body import StoredBytes
from forum_runner.wave_plan.planned_task import PlannedTask, Rung


@dataclass(slots=True)
class Call:
    """An open attempt or check. Its id is the run's id and the seq of the entry that opened it."""

    id: str
    seq: int
    attempt: int
    agent: str | None
    adapter: str | None
    reserved: dict[str, int]
    timeout_ms: int
    started_us: int
    check: int | None = None
    is_orphan: bool = False
    short_time: Shortage | None = None
    short_output: Shortage | None = None
    rate: list[int] | None = None


@dataclass(slots=True)
class GateState:
    seq: int
    displayed: str
    deadline_us: int | None
    decision: str | None = None
    by: str = ""
    decided_seq: int | None = None
    edited: StoredBytes | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """The facts about the last call that the next decision depends on."""

    status: str
    error: ErrorKind | None = None
    retry_after_ms: int | None = None
    feedback: Feedback | None = None


NOTHING: dict[str, DeliveredValue] = {}


class Unit:
    """`cause` is the entry that allowed it to start; `closed` is the entry that ended its last attempt."""

    __slots__ = (
        "agent", "asked", "at_step", "attempts", "call", "cause", "check_error", "checks_passed", "closed",
        "delivered", "ended", "ending", "feedback", "fingerprint", "gate", "given", "has_begun", "has_failed_check",
        "index", "ladder", "losses", "may_repeat", "name", "output", "prompt", "resumes_us", "reused", "seen", "state",
        "step", "task",
    )  # fmt: skip

    def __init__(self, name: str, task: PlannedTask, index: int | None = None) -> None:
        self.name = name
        self.task = task
        self.index = index
        self.agent = task.agent
        self.ladder: tuple[Rung, ...] = task.ladder
        self.step = 0
        self.state: str | None = None
        self.cause: int | None = None
        self.delivered: int | None = None
        self.closed: int | None = None
        self.ended: int | None = None
        self.given: dict[str, DeliveredValue] = NOTHING
        self.gate: GateState | None = None
        self.fingerprint = ""
        self.call: Call | None = None
        self.has_begun = False
        self.attempts = 0
        self.at_step = 0
        self.losses = 0
        self.asked = 0
        self.check_error: Failure | None = None
        self.checks_passed = 0
        self.has_failed_check = False
        self.ending: Ending | None = None
        self.feedback: Feedback | None = None
        self.output: Output | None = None
        self.reused = False
        # The environment of a program may change between calls. A model gives no better answer to the same prompt.
        self.may_repeat = task.run is None and (task.retry.attempts > 1 or len(task.ladder) != 1)
        self.prompt = ""
        self.seen: set[str] | None = None
        self.resumes_us: int | None = None

    @property
    def order(self) -> tuple[int, int]:
        return self.task.order, -1 if self.index is None else self.index

    @property
    def is_sensitive(self) -> bool:
        """Whether its bodies are salted. Everything derived from sensitive data is sensitive."""
        if not self.given or self.task.is_sensitive:
            return self.task.is_sensitive
        return any(item.body.is_sensitive for item in self.given.values())

    @property
    def last_feedback(self) -> Feedback | None:
        """Why the last answer was rejected, if there was one."""
        return self.feedback or (self.ending.feedback if self.ending is not None else None)

    def release(self) -> None:
        """Drops values that only its own work needed."""
        self.given = NOTHING
        self.seen = self.ending = self.feedback = None


class Expansion:
    """The instances of a task with a `foreach`. An item is read when its instance starts."""

    __slots__ = ("items", "open", "seq", "units")

    def __init__(self, seq: int, items: Output, units: list[Unit]) -> None:
        self.seq = seq
        self.items = items
        self.units = units
        self.open = len(units)
