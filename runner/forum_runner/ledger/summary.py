"""What happened in a run, told by its ledger alone: a fold over the entries that keeps a little for each task.

It believes what it reads. Whether the ledger holds is for a verifier to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forum_runner.ledger.read_entry import OF_THE_RECORD, SEAL, ReadEntry, amount, part, text
from forum_runner.ledger.usage import Usage

# What may stand between a pause and the end of it, beside a user's own entries.
WHILE_PAUSED = OF_THE_RECORD | {"gate.decided"}


@dataclass(slots=True)
class Gate:
    """`is_edited` says that the decision gave another instruction; `reason` is the body that says why."""

    decision: str | None = None
    by: str | None = None
    actor: str | None = None
    authenticated: bool = False
    is_edited: bool = False
    reason: Mapping[str, Any] | None = None


class Cut(NamedTuple):
    """What was handed over as `name`, and was longer than a prompt may hold of it."""

    name: str
    kept_bytes: int
    all_bytes: int


@dataclass(slots=True)
class TaskStory:
    """A task, or an instance of one. `ended` is its final state; `reserved` is what its open call may take."""

    id: str
    ended: str | None = None
    reason: str | None = None
    attempts: int = 0
    agent: str | None = None
    tier: str | None = None
    adapter: str | None = None
    usage: Usage = field(default_factory=Usage)
    verdicts: Counter[str] = field(default_factory=Counter)
    escalations: list[tuple[str, str]] = field(default_factory=list)
    gate: Gate | None = None
    instances: int | None = None
    reused_from: str | None = None
    output: Mapping[str, Any] | None = None
    reserved: Mapping[str, Any] | None = None
    cuts: list[Cut] = field(default_factory=list)

    @property
    def state(self) -> str:
        if self.ended is not None:
            return self.ended
        if self.reserved is not None:
            return "running"
        return "waiting" if self.gate is not None and self.gate.decision is None else "begun"


@dataclass(slots=True)
class Summary:
    """`budget` and `redactions` are entries as they were found; `unreadable` counts lines that are no entries.

    `ended` is the last entry of the run itself: its first seal or, without one, the last that tells of the run. A
    redaction is no part of the run, nor is what follows a seal.
    """

    opened: ReadEntry | None = None
    first: ReadEntry | None = None
    last: ReadEntry | None = None
    seal: ReadEntry | None = None
    ended: ReadEntry | None = None
    paused: str | None = None
    entries: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    tasks: dict[str, TaskStory] = field(default_factory=dict)
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    budget: list[ReadEntry] = field(default_factory=list)
    redactions: list[ReadEntry] = field(default_factory=list)
    unreadable: int = 0
    first_unreadable: int | None = None
    torn_bytes: int = 0

    @property
    def is_sealed(self) -> bool:
        return self.last is not None and self.last.kind == SEAL

    @property
    def status(self) -> str:
        """One word: the seal's, or what a run without one is."""
        if self.is_sealed and self.last is not None:
            return text(self.last.data, "status") or "sealed"
        if self.paused is None:
            return "unfinished"
        return "interrupted" if self.paused == "interrupted" else "paused"

    @property
    def totals(self) -> Usage:
        totals = Usage()
        for task in self.tasks.values():
            totals.add(task.usage)
        return totals

    def add_unreadable(self, number: int) -> None:
        self.unreadable += 1
        if self.first_unreadable is None:
            self.first_unreadable = number

    def add(self, entry: ReadEntry) -> None:
        self.entries += 1
        self.kinds[entry.kind] += 1
        self.first = self.first or entry
        self.last = entry
        if self.seal is None and entry.kind not in OF_THE_RECORD:
            self.ended = entry
        if entry.kind not in WHILE_PAUSED and not entry.kind.startswith("x-"):
            self.paused = text(entry.data, "reason") or "paused" if entry.kind == "run.paused" else None
        if entry.kind == "run.opened":
            self.opened = self.opened or entry
        elif entry.kind == SEAL:
            self.seal = entry
        elif entry.kind.startswith("budget."):
            self.budget.append(entry)
        elif entry.kind == "body.redacted":
            self.redactions.append(entry)
        elif entry.kind == "answer.given":
            self.answers[text(entry.data, "output") or ""] = part(entry.bodies, "value")
        elif entry.kind in _STEPS and entry.task is not None:
            _STEPS[entry.kind](self._story(entry.task), entry)

    def _story(self, task: str) -> TaskStory:
        story = self.tasks.get(task)
        if story is None:
            story = self.tasks[task] = TaskStory(task)
        return story


def _routed(story: TaskStory, entry: ReadEntry) -> None:
    story.agent = text(entry.data, "agent")


def _expanded(story: TaskStory, entry: ReadEntry) -> None:
    story.instances = amount(entry.data, "instances")


def _started(story: TaskStory, entry: ReadEntry) -> None:
    story.attempts += 1
    story.usage.calls += 1
    story.agent, story.tier = text(entry.data, "agent"), text(entry.data, "tier")
    story.adapter = text(entry.data, "adapter")
    story.reserved = part(entry.data, "reserved")


def _finished(story: TaskStory, entry: ReadEntry) -> None:
    story.reserved = None
    story.usage.charge(part(entry.data, "usage"))
    if "output" in entry.bodies:
        story.output = part(entry.bodies, "output")


def _lost(story: TaskStory, entry: ReadEntry) -> None:
    """Nobody knows what it took, so it is charged what was reserved."""
    story.usage.charge(story.reserved or {})
    story.reserved = None
    if entry.kind == "verdict.lost":
        story.verdicts["lost"] += 1


def _reused(story: TaskStory, entry: ReadEntry) -> None:
    story.reused_from = text(entry.data, "run") or ""
    story.output = part(entry.bodies, "output")


def _ended(story: TaskStory, entry: ReadEntry) -> None:
    story.ended = text(entry.data, "state") or "ended"
    story.reason = text(entry.data, "reason")


def _gate_opened(story: TaskStory, _: ReadEntry) -> None:
    story.gate = Gate()


def _gate_decided(story: TaskStory, entry: ReadEntry) -> None:
    story.gate = Gate(
        text(entry.data, "decision") or "decided",
        text(entry.data, "by"),
        entry.actor,
        entry.data.get("authenticated") is True,
        "edited" in entry.bodies,
        part(entry.bodies, "reason") or None,
    )


def _asked(story: TaskStory, entry: ReadEntry) -> None:
    story.usage.calls += entry.data.get("by") == "agent"
    story.reserved = part(entry.data, "reserved")


def _given(story: TaskStory, entry: ReadEntry) -> None:
    story.reserved = None
    story.usage.charge(part(entry.data, "usage"))
    story.verdicts[text(entry.data, "verdict") or "none"] += 1


def _escalated(story: TaskStory, entry: ReadEntry) -> None:
    story.escalations.append((text(entry.data, "from") or "", text(entry.data, "to") or ""))


def _delivered(_story: TaskStory, _entry: ReadEntry) -> None:
    """A value was handed over: the task has a story from here on."""


def _cut(story: TaskStory, entry: ReadEntry) -> None:
    kept, whole = amount(entry.data, "kept_bytes"), amount(entry.data, "bytes")
    story.cuts.append(Cut(text(entry.data, "as") or "?", kept, whole))


_STEPS: dict[str, Callable[[TaskStory, ReadEntry], None]] = {
    "route.decided": _routed,
    "task.expanded": _expanded,
    "task.started": _started,
    "task.finished": _finished,
    "task.lost": _lost,
    "task.reused": _reused,
    "task.ended": _ended,
    "edge.delivered": _delivered,
    "context.cut": _cut,
    "gate.opened": _gate_opened,
    "gate.decided": _gate_decided,
    "verdict.asked": _asked,
    "verdict.given": _given,
    "verdict.lost": _lost,
    "escalation.raised": _escalated,
}
