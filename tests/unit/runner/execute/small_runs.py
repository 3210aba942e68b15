"""Small runs for tests: a plan as a dict, a script as a list, and the entries that the run records.

`run` executes in virtual time and in memory. `ManualRun` lets the test supply every reply, where no script could.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bundles import compile_files, invocation_in, workflow
from forum_adapters.base import Attempt, Reply
from forum_adapters.scripted import ScriptedAdapter
from forum_runner.api import Workspace
from forum_runner.app.run_handle import EndedRun
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.app.runs import RunServices, resume_run, start_run
from forum_runner.canonical import canonical
from forum_runner.execute.drive import EPOCH_US, Recorder, RunClock, VirtualDriver
from forum_runner.execute.machine import (
    Cancel,
    Context,
    Event,
    Interrupted,
    Lost,
    Machine,
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
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.recorded_body import AnyBody
from forum_runner.ledger.run_id import new_run_id
from forum_runner.wave_plan.wave_plan_reader import WavePlan, read_wave_plan

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
    """An entry without its place in the chain; `at_ms` counts from the start of the run."""

    at_ms: int
    kind: str
    data: Mapping[str, Any]
    bodies: Mapping[str, bytes]
    causes: Sequence[int]
    actor: str


def plan_of(tasks: Mapping[str, Any], **parts: Any) -> Mapping[str, Any]:
    """Compile these tasks. `parts` may have `policy`, `roster`, `outputs`, `inputs` and `input_values`."""
    policy = {**POLICY, **parts.pop("policy", {})}
    roster = parts.pop("roster", ROSTER)
    input_values = parts.pop("input_values", None)
    document = workflow({"tasks": tasks, **parts}, policy=policy, roster=roster)
    result = compile_files({"workflow.yaml": document}, inputs=input_values)
    assert errors_in(result.findings) == ()
    assert result.wave_plan is not None
    return result.wave_plan


def wave_plan_of(tasks: Mapping[str, Any], **parts: Any) -> WavePlan:
    return read_wave_plan(plan_of(tasks, **parts))


@dataclass
class RecordedRun:
    """The entries of a run. Entry 0, `run.opened`, is counted but not stored."""

    plan: Mapping[str, Any]
    run: str
    entries: list[Entry] = field(default_factory=list)
    stored: list[Mapping[str, AnyBody]] = field(default_factory=list)

    def add(self, entry: NewEntry, now_us: int, scrubber: Scrubber) -> None:
        bodies = {
            name: scrubber.scrub_body(Body(body.data, body.type, body.is_sensitive))
            for name, body in entry.bodies.items()
        }
        self.stored.append(bodies)
        contents = {name: body.data for name, body in bodies.items()}
        at_ms = (now_us - EPOCH_US) // 1_000
        self.entries.append(Entry(at_ms, entry.kind, dict(entry.data), contents, list(entry.causes), entry.actor))

    @property
    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.entries]

    @property
    def brief(self) -> list[str]:
        """The kind and unit of each entry."""
        return [f"{entry.kind} {entry.data['task']}" if "task" in entry.data else entry.kind for entry in self.entries]

    def of_kind(self, kind: str, task: str | None = None) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind and task in (None, entry.data.get("task"))]

    def only(self, kind: str, task: str | None = None) -> Entry:
        matches = self.of_kind(kind, task)
        assert len(matches) == 1, self.brief
        return matches[0]

    def seq(self, entry: Entry) -> int:
        return next(number for number, known in enumerate(self.entries, 1) if known is entry)

    def cause(self, entry: Entry) -> list[str]:
        """Return the causes of an entry in the notation of `brief`."""
        return [self.brief[seq - 1] for seq in entry.causes]

    @property
    def ends(self) -> dict[str, str]:
        """The end state of each unit, followed by a slash and the reason if it has one."""
        ended = [entry.data for entry in self.of_kind("task.ended")]
        return {data["task"]: "/".join(data[name] for name in ("state", "reason") if name in data) for data in ended}

    @property
    def starts(self) -> list[tuple[int, str]]:
        return [(entry.at_ms, entry.data["task"]) for entry in self.of_kind("task.started")]

    @property
    def status(self) -> str:
        return str(self.only("run.sealed").data["status"])


def context_of(plan: Mapping[str, Any], answers: Sequence[Any] = (), **more: Any) -> Context:
    scripted = {"type": "scripted", "answers": answers}
    run_id = new_run_id(EPOCH_US, bytes.fromhex(plan["digest"])[:10])
    return Context(run_id, IMPLEMENTATION, dict.fromkeys(plan["adapters"], scripted), scripted, **more)


class _MemoryRecorder(Recorder):
    """Stores entries in memory."""

    def __init__(self, recorded: RecordedRun, clock: RunClock, scrubber: Scrubber) -> None:
        self._recorded, self._clock, self._scrubber = recorded, clock, scrubber

    def write(self, entries: Sequence[NewEntry]) -> None:
        for entry in entries:
            self._recorded.add(entry, self._clock.now_us, self._scrubber)

    def commit(self) -> None:
        """Do nothing: entries stay in memory."""


def run(tasks: Mapping[str, Any], answers: Sequence[Any] = (), **parts: Any) -> RecordedRun:
    """Execute a run until it is sealed or paused.

    `secrets` maps secret inputs to values, `reusable` maps units to results of earlier runs.
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
    recorded = RecordedRun(plan, context.run)
    drive(VirtualDriver(machine, _MemoryRecorder(recorded, clock, scrubber), ScriptedAdapter, scrubber, clock))
    return recorded


def drive(driver: VirtualDriver) -> Outcome:
    """Run a machine from its start to its end."""
    steps = driver.steps(is_new=True)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome


def outputs(**by_task: Any) -> list[dict[str, Any]]:
    """Return a script in which each task answers with the given output."""
    return [{"task": task, "output": output} for task, output in by_task.items()]


def run_in(directory: Path, tasks: Mapping[str, Any], answers: Sequence[Any], **parts: Any) -> EndedRun:
    """Execute a deterministic run that writes a run directory."""
    prepared = prepared_run(plan_of(tasks, **parts), directory.parent, answers)
    return run_prepared(prepared, out=directory, is_deterministic=True)


def prepared_run(plan: Mapping[str, Any], root: Path, answers: Sequence[Any] | None = None) -> PreparedRun:
    return PreparedRun(read_wave_plan(plan), canonical(plan), invocation_in(root, answers))


def run_prepared(prepared: PreparedRun, services: RunServices | None = None, **options: Any) -> EndedRun:
    async def main() -> EndedRun:
        workspace = Workspace(prepared.root)
        return await start_run(prepared, services or RunServices(), workspace, **options).wait()

    return asyncio.run(main())


def resume_prepared(directory: Path, prepared: PreparedRun) -> EndedRun:
    async def main() -> EndedRun:
        return await resume_run(directory, prepared, RunServices(), read_run_start(directory)).wait()

    return asyncio.run(main())


class ManualRun:
    """A run whose replies the test supplies. `open` maps units to calls without a reply."""

    def __init__(self, tasks: Mapping[str, Any], *, resumed_from: RecordedRun | None = None, **parts: Any) -> None:
        plan = plan_of(tasks, **parts)
        self.machine = Machine(read_wave_plan(plan), context_of(plan))
        self.recorded = RecordedRun(plan, self.machine.context.run)
        self.open: dict[str, Attempt] = {}
        self.cancelled: list[str] = []
        self.now_us = EPOCH_US
        self._scrubber = Scrubber({})
        self.machine.state.apply("run.opened", EPOCH_US, {}, {})
        if resumed_from is None:
            self._perform(self.machine.open(self.now_us))
        else:
            self._resume(resumed_from)

    def _resume(self, earlier: RecordedRun) -> None:
        """Restore the state from the entries of an earlier process, then resume."""
        for entry, bodies in zip(earlier.entries, earlier.stored, strict=True):
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
        self._handle(Replied(call, self._scrubber.scrub_reply(Reply(data, **reply))))

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
        for entry in step.entries:
            self.recorded.add(entry, self.now_us, self._scrubber)
        for command in step.commands:
            if isinstance(command, Attempt):
                self.open[command.task] = command
            elif isinstance(command, Cancel):
                self.cancelled.append(command.call)
