"""A unit of work: a task without a `foreach`, or one instance of a task with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine.budgets import Shortage
from forum_runner.execute.machine.prompt_renderer import DeliveredValue, Feedback
from forum_runner.execute.machine.task_output import Output
from forum_runner.ledger.recorded_body import AnyBody
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
    edited: AnyBody | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """The facts about the last call that the next decision depends on."""

    status: str
    error: ErrorKind | None = None
    retry_after_ms: int | None = None
    feedback: Feedback | None = None


NOTHING: dict[str, DeliveredValue] = {}


@dataclass(slots=True, eq=False)
class Unit:
    """`cause` is the entry that allowed it to start; `closed` is the entry that ended its last attempt."""

    name: str
    task: PlannedTask
    index: int | None = None
    agent: str | None = field(init=False)
    ladder: tuple[Rung, ...] = field(init=False)
    may_repeat: bool = field(init=False)
    step: int = 0
    state: str | None = None
    cause: int | None = None
    delivered: int | None = None
    closed: int | None = None
    ended: int | None = None
    given: dict[str, DeliveredValue] = field(default_factory=lambda: NOTHING)
    gate: GateState | None = None
    fingerprint: str = ""
    call: Call | None = None
    has_begun: bool = False
    attempts: int = 0
    at_step: int = 0
    losses: int = 0
    asked: int = 0
    check_error: Failure | None = None
    checks_passed: int = 0
    has_failed_check: bool = False
    ending: Ending | None = None
    feedback: Feedback | None = None
    output: Output | None = None
    reused: bool = False
    prompt: str = ""
    seen: set[str] | None = None
    resumes_us: int | None = None

    def __post_init__(self) -> None:
        task = self.task
        self.agent, self.ladder = task.agent, task.ladder
        # The environment of a program may change between calls. A model gives no better answer to the same prompt.
        self.may_repeat = task.run is None and (task.retry.attempts > 1 or len(task.ladder) != 1)

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


@dataclass(slots=True, eq=False)
class Expansion:
    """The instances of a task with a `foreach`. An item is read when its instance starts."""

    seq: int
    items: Output
    units: list[Unit]
    open: int
