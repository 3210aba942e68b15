"""Small runs for tests: a plan as a dict, a script as a list, and what the ledger would be told of them.

`run` goes in virtual time and in memory. `ByHand` is for what no script can say: every reply is given by the test.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bundles import compiled, workflow
from forum_adapters.base import Attempt, Reply
from forum_adapters.scripted import ScriptedAdapter
from forum_runner.app.run_handle import FinishedRun
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.app.runs import RunServices, resume_run, start_run
from forum_runner.canonical import canonical
from forum_runner.execute.drive.recorder import RunClock
from forum_runner.execute.drive.virtual import EPOCH_US, VirtualDriver
from forum_runner.execute.machine import (
    Cancel,
    Context,
    Event,
    Interrupted,
    Lost,
    Machine,
    NewEntry,
    Outcome,
    Replied,
    Reusable,
    TimePassed,
    Transition,
)
from forum_runner.execute.resume import read_run_start
from forum_runner.execute.secrets import Scrubber
from forum_runner.finding import errors_in
from forum_runner.ledger.body import Body
from forum_runner.ledger.recorded_body import StoredBytes
from forum_runner.ledger.run_id import new_run_id
from forum_runner.wave_plan.wave_plan_reader import WavePlan, read_wave_plan
from forum_runner.workspace import Workspace

ROSTER: dict[str, Any] = {
    "adapters": {
        "shell": {"type": "command"},
        "json": {"type": "command", "stdin": "json"},
        "mute": {"type": "command", "stdin": "none"},
        "own": {"type": "command", "argv": ["llm", "--plain"]},
        "small": {"type": "scripted"},
        "large": {"type": "scripted", "prices": {"input": "3", "output": "15"}},
    },
    "agents": {
        "operator": {"adapter": "shell"},
        "parser": {"adapter": "json"},
        "quiet": {"adapter": "mute"},
        "local": {"adapter": "own", "persona": "You are terse."},
        "writer": {"adapters": {"cheap": "small", "frontier": "large"}},
        "costly": {"adapter": "large"},
        "critic": {"adapter": "small", "persona": "You judge."},
    },
}
POLICY: dict[str, Any] = {"allow": {"commands": ["*"]}, "dispatch": "eager"}
WORK: dict[str, Any] = {"agent": "writer", "instruction": "Write."}
RUN: dict[str, Any] = {"agent": "operator", "run": ["git", "log"]}
PASS: dict[str, Any] = {"agent": "critic", "output": {"verdict": "pass", "reason": "good"}}
FAIL: dict[str, Any] = {"agent": "critic", "output": {"verdict": "fail", "reason": "bad"}}
IMPLEMENTATION = {"name": "deterministic", "version": "1"}


class Entry(NamedTuple):
    """An entry without its place in the chain; `at_ms` counts from the beginning of the run."""

    at_ms: int
    kind: str
    data: Mapping[str, Any]
    bodies: Mapping[str, bytes]
    causes: Sequence[int]
    actor: str


def plan_of(tasks: Mapping[str, Any], **parts: Any) -> Mapping[str, Any]:
    """The wave plan of these tasks. `parts` are `policy`, `roster`, `outputs`, `inputs` and `given`."""
    policy = {**POLICY, **parts.pop("policy", {})}
    roster = parts.pop("roster", ROSTER)
    given = parts.pop("given", None)
    document = workflow({"tasks": tasks, **parts}, policy=policy, roster=roster)
    result = compiled({"workflow.yaml": document}, inputs=given)
    assert errors_in(result.findings) == ()
    assert result.wave_plan is not None
    return result.wave_plan


def wave_plan_of(tasks: Mapping[str, Any], **parts: Any) -> WavePlan:
    return read_wave_plan(plan_of(tasks, **parts))


@dataclass
class Story:
    """What was told. Entry 0, which opens a run, is counted and not kept."""

    plan: Mapping[str, Any]
    run: str
    entries: list[Entry] = field(default_factory=list)
    stored: list[Mapping[str, StoredBytes]] = field(default_factory=list)

    def take(self, told: NewEntry, now_us: int, scrubber: Scrubber) -> None:
        bodies = {
            name: scrubber.body(Body(body.data, body.type, body.is_sensitive)) for name, body in told.bodies.items()
        }
        self.stored.append(bodies)
        contents = {name: body.data for name, body in bodies.items()}
        at_ms = (now_us - EPOCH_US) // 1_000
        self.entries.append(Entry(at_ms, told.kind, dict(told.data), contents, list(told.causes), told.actor))

    @property
    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.entries]

    @property
    def brief(self) -> list[str]:
        """Kind and unit of each entry."""
        return [f"{entry.kind} {entry.data['task']}" if "task" in entry.data else entry.kind for entry in self.entries]

    def of(self, kind: str, task: str | None = None) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind and task in (None, entry.data.get("task"))]

    def one(self, kind: str, task: str | None = None) -> Entry:
        found = self.of(kind, task)
        assert len(found) == 1, self.brief
        return found[0]

    def seq(self, entry: Entry) -> int:
        return next(number for number, known in enumerate(self.entries, 1) if known is entry)

    def cause(self, entry: Entry) -> list[str]:
        """The entries that it follows from, as `brief` shows them."""
        return [self.brief[seq - 1] for seq in entry.causes]

    @property
    def ends(self) -> dict[str, str]:
        """How each unit ended: its state, and after a slash the reason."""
        ended = [entry.data for entry in self.of("task.ended")]
        return {data["task"]: "/".join(data[name] for name in ("state", "reason") if name in data) for data in ended}

    @property
    def starts(self) -> list[tuple[int, str]]:
        return [(entry.at_ms, entry.data["task"]) for entry in self.of("task.started")]

    @property
    def status(self) -> str:
        return str(self.one("run.sealed").data["status"])


def context_of(plan: Mapping[str, Any], answers: Sequence[Any] = (), **more: Any) -> Context:
    scripted = {"type": "scripted", "answers": answers}
    run_id = new_run_id(EPOCH_US, bytes.fromhex(plan["digest"])[:10])
    return Context(run_id, IMPLEMENTATION, dict.fromkeys(plan["adapters"], scripted), scripted, **more)


class _Memory:
    def __init__(self, story: Story, clock: RunClock, scrubber: Scrubber) -> None:
        self._story, self._clock, self._scrubber = story, clock, scrubber

    def write(self, entries: Sequence[NewEntry]) -> None:
        for told in entries:
            self._story.take(told, self._clock.now_us, self._scrubber)

    waits_for_disk = False

    def commit(self) -> None:
        """There is no disk."""

    async def commit_together(self) -> None:
        """There is no disk."""


def run(tasks: Mapping[str, Any], answers: Sequence[Any] = (), **parts: Any) -> Story:
    """A whole run, until it is sealed or paused.

    `secrets` are values of secret inputs by name, `reusable` results of earlier runs by unit.
    """
    secrets: Mapping[str, str] = parts.pop("secrets", {})
    scrubbed: Mapping[str, str] = parts.pop("scrubbed", secrets)
    reusable: Mapping[str, Reusable] = parts.pop("reusable", {})
    find_reusable = parts.pop("find_reusable", lambda unit, _fingerprint: reusable.get(unit.name))
    plan = plan_of(tasks, **parts)
    context = context_of(plan, answers, secrets=secrets, find_reusable=find_reusable)
    machine = Machine(read_wave_plan(plan), context)
    clock, scrubber = RunClock(EPOCH_US), Scrubber(scrubbed)
    machine.state.apply("run.opened", EPOCH_US, {}, {})
    story = Story(plan, context.run)
    VirtualDriver(machine, _Memory(story, clock, scrubber), ScriptedAdapter, scrubber, clock).run(is_new=True)
    return story


def outputs(**by_task: Any) -> list[dict[str, Any]]:
    """A script: each task answers with this output."""
    return [{"task": task, "output": output} for task, output in by_task.items()]


def run_in(directory: Path, tasks: Mapping[str, Any], answers: Sequence[Any], **parts: Any) -> FinishedRun:
    """A deterministic run that leaves a run directory."""
    plan = plan_of(tasks, **parts)
    prepared = PreparedRun(plan, canonical(plan), directory.parent, "workflow.yaml", answers)
    return run_prepared(prepared, out=directory, is_deterministic=True)


def run_prepared(prepared: PreparedRun, services: RunServices | None = None, **options: Any) -> FinishedRun:
    async def main() -> FinishedRun:
        workspace = Workspace(prepared.root)
        return await start_run(prepared, services or RunServices(), workspace, **options).wait()

    return asyncio.run(main())


def resume_prepared(directory: Path, prepared: PreparedRun) -> FinishedRun:
    async def main() -> FinishedRun:
        return await resume_run(directory, prepared, RunServices(), read_run_start(directory)).wait()

    return asyncio.run(main())


class ByHand:
    """A run whose replies the test gives. `open` are the calls that wait for one, by unit."""

    def __init__(self, tasks: Mapping[str, Any], *, told: Story | None = None, **parts: Any) -> None:
        plan = plan_of(tasks, **parts)
        self.machine = Machine(read_wave_plan(plan), context_of(plan))
        self.story = Story(plan, self.machine.context.run)
        self.open: dict[str, Attempt] = {}
        self.cancelled: list[str] = []
        self.now_us = EPOCH_US
        self._scrubber = Scrubber({})
        self.machine.state.apply("run.opened", EPOCH_US, {}, {})
        if told is None:
            self._perform(self.machine.open(self.now_us))
        else:
            self._take_up(told)

    def _take_up(self, told: Story) -> None:
        """A process that goes on with what another one told."""
        for entry, bodies in zip(told.entries, told.stored, strict=True):
            self.now_us = EPOCH_US + entry.at_ms * 1_000
            self.machine.state.apply(entry.kind, self.now_us, entry.data, bodies)
        self._perform(self.machine.resume(self.now_us))

    @property
    def outcome(self) -> Outcome | None:
        return self.machine.outcome

    def wait(self, span_ms: int) -> None:
        self.now_us += span_ms * 1_000

    def reply(self, task: str, content: str | bytes = "", **reply: Any) -> None:
        data = content.encode() if isinstance(content, str) else content
        call = self.open.pop(task).id
        self._handle(Replied(call, self._scrubber.reply(Reply(data, **reply))))

    def lose(self, task: str) -> None:
        self._handle(Lost(self.open.pop(task).id))

    def interrupt(self) -> None:
        self._handle(Interrupted())

    def pass_time(self, span_ms: int) -> None:
        self.wait(span_ms)
        self._handle(TimePassed())

    def _handle(self, event: Event) -> None:
        self._perform(self.machine.handle(event, self.now_us))

    def _perform(self, step: Transition) -> None:
        for told in step.entries:
            self.story.take(told, self.now_us, self._scrubber)
        for command in step.commands:
            if isinstance(command, Attempt):
                self.open[command.task] = command
            elif isinstance(command, Cancel):
                self.cancelled.append(command.call)
