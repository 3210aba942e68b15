"""A unit of work: a task without a `foreach`, or one instance of a task with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine.budgets import Shortage
from forum_runner.execute.machine.task_output import Output
from forum_runner.ledger.body import JSON
from forum_runner.ledger.recorded_body import AnyBody
from forum_runner.wave_plan.planned_task import Placeholder, PlannedTask, PlanText, Rung


class DeliveredValue(NamedTuple):
    """A value that an edge delivered, and how many bytes of it a prompt gets (None: all)."""

    name: str
    body: AnyBody
    origin: str
    digest: str
    kept_bytes: int | None = None

    def text_bytes(self) -> bytes:
        """The bytes for a text: a string without quotes, any other value as JSON."""
        data = self.body.data
        if self.body.type != JSON or not data.startswith(b'"'):
            return data
        text: str = orjson.loads(data)
        return text.encode()

    def prompt_bytes(self) -> bytes:
        """The bytes for a prompt: at most `kept_bytes`, truncated between characters."""
        data = self.text_bytes()
        if self.kept_bytes is None or self.kept_bytes >= len(data):
            return data
        return data[: self.kept_bytes].decode(errors="ignore").encode()


@dataclass(frozen=True, slots=True)
class Feedback:
    """The last answer, and why it was rejected."""

    reason: str
    answer: bytes


@dataclass(slots=True)
class Call:
    """An open attempt or check. Its id is the run's id and the seq of the entry that opened it.

    `is_orphan` is set if an earlier process made the call. `rate_slot` is its place in the rate limit of its adapter.
    """

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
    time_shortage: Shortage | None = None
    output_shortage: Shortage | None = None
    rate_slot: list[int] | None = None


@dataclass(slots=True)
class GateState:
    """A gate that was opened. `displayed` is the digest of the document that it displays."""

    seq: int
    displayed: str
    deadline_us: int | None
    decision: str | None = None
    by: str = ""
    decided_seq: int | None = None
    edited: AnyBody | None = None


@dataclass(frozen=True, slots=True)
class CallEnding:
    """The facts about the last call that the next decision depends on."""

    status: str
    error: ErrorKind | None = None
    retry_after_ms: int | None = None
    feedback: Feedback | None = None


NO_DELIVERIES: dict[str, DeliveredValue] = {}


@dataclass(slots=True, eq=False)
class Unit:
    """A unit. `cause_seq` is the entry that allowed it to start, `closed_seq` the entry that ended its last attempt.

    `step` is its position on the ladder. `check_tries` counts the calls for the current check.
    """

    name: str
    task: PlannedTask
    index: int | None = None
    agent: str | None = field(init=False)
    ladder: tuple[Rung, ...] = field(init=False)
    may_repeat: bool = field(init=False)
    step: int = 0
    state: str | None = None
    cause_seq: int | None = None
    delivered_seq: int | None = None
    closed_seq: int | None = None
    ended_seq: int | None = None
    delivered: dict[str, DeliveredValue] = field(default_factory=lambda: NO_DELIVERIES)
    gate: GateState | None = None
    fingerprint: str = ""
    call: Call | None = None
    has_begun: bool = False
    attempts: int = 0
    attempts_at_step: int = 0
    losses: int = 0
    check_tries: int = 0
    check_error: Failure | None = None
    checks_passed: int = 0
    has_failed_check: bool = False
    ending: CallEnding | None = None
    feedback: Feedback | None = None
    output: Output | None = None
    is_reused: bool = False
    prompt_digest: str = ""
    answered_prompts: set[str] | None = None
    resumes_us: int | None = None

    def __post_init__(self) -> None:
        task = self.task
        self.agent, self.ladder = task.agent, task.ladder
        # Whether the next prompt may equal an answered one, which is not sent again: a model would give no better
        # answer. Programs are exempt, because their environment may change between calls.
        self.may_repeat = task.run is None and (task.retry.attempts > 1 or len(task.ladder) != 1)

    @property
    def order(self) -> tuple[int, int]:
        return self.task.order, -1 if self.index is None else self.index

    @property
    def is_sensitive(self) -> bool:
        """Whether its bodies are salted. Everything derived from sensitive data is sensitive."""
        if not self.delivered or self.task.is_sensitive:
            return self.task.is_sensitive
        return any(value.body.is_sensitive for value in self.delivered.values())

    @property
    def is_undecided(self) -> bool:
        """Whether it waits for the decision at its gate."""
        return self.gate is not None and self.gate.decision is None and self.state is None

    @property
    def needs_check(self) -> bool:
        """Whether the next call is a check: the last attempt succeeded, and none of its checks failed."""
        return self.ending is not None and self.ending.status == "ok" and not self.has_failed_check

    @property
    def edited_instruction(self) -> str | None:
        """The instruction with which a person replaced the plan's; None if nobody did."""
        return None if self.gate is None or self.gate.edited is None else self.gate.edited.data.decode()

    @property
    def instruction(self) -> PlanText:
        edited = self.edited_instruction
        return self.task.instruction or () if edited is None else (edited,)

    @property
    def last_feedback(self) -> Feedback | None:
        """The last answer that was rejected, and why; None if there is none."""
        return self.feedback or (self.ending.feedback if self.ending is not None else None)

    @property
    def causes_after_attempt(self) -> list[int]:
        """The causes of an entry that follows from the end of its last attempt."""
        return [] if self.closed_seq is None else [self.closed_seq]

    def bodies_for_call(self) -> Iterator[tuple[str, AnyBody]]:
        """The recorded bodies that the next call needs, each with a description.

        A check needs the output and the data that its command refers to; an attempt needs all delivered data.
        """
        delivered = self.delivered
        if self.output is not None and self.needs_check:
            yield "the output to check", self.output.body
            command = self.task.checks[self.checks_passed].command or ()
            needed = {part.need for text in command for part in text if isinstance(part, Placeholder)}
            delivered = {name: value for name, value in delivered.items() if name in needed}
        elif self.gate is not None and self.gate.edited is not None:
            yield "the edited instruction", self.gate.edited
        for name, value in delivered.items():
            yield f"the value for '{name}'", value.body

    def release(self) -> None:
        """Drops values that only the work of this unit needed."""
        self.delivered = NO_DELIVERIES
        self.answered_prompts = self.ending = self.feedback = None


@dataclass(slots=True, eq=False)
class Expansion:
    """The instances of a task with a `foreach`. An item is read when its instance starts."""

    seq: int
    items: Output
    units: list[Unit]
    open: int
