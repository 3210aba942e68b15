"""Random runs: successive processes execute a plan in a simulated world until the ledger on disk is sealed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import orjson

from forum_adapters.base import Attempt, Reply
from forum_runner.canonical import canonical
from forum_runner.execute.drive import EPOCH_US, Recorder, RunClock, VirtualDriver
from forum_runner.execute.machine import (
    Context,
    Decided,
    Event,
    Interrupted,
    Lost,
    Machine,
    Outcome,
    Replied,
    Reusable,
    RunState,
    TimePassed,
    Transition,
    Unit,
)
from forum_runner.execute.replay import Replayer, ReplayResult
from forum_runner.execute.resume import StateRestorer, read_run_start
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.begin import create_ledger, open_ledger
from forum_runner.ledger.body import Body
from forum_runner.ledger.files import Durability
from forum_runner.wave_plan.wave_plan_reader import read_wave_plan
from unit.runner.execute.ledger_verdicts import VALID, runner_verdict
from unit.runner.execute.random_plans import SECRET, JsonObject
from unit.runner.execute.random_worlds import World, is_due
from unit.runner.execute.small_runs import drive

RUN = "01936b2e-4d10-7a3c-9f00-000000000001"
IMPLEMENTATION = {"name": "random", "version": "1"}
MAX_EVENTS = 3_000
MAX_PROCESSES = 60
FindReusable = Callable[[Unit, str], Reusable | None]


def nothing_reusable(_unit: Unit, _fingerprint: str) -> Reusable | None:
    return None


class Salts:
    """Yields a different salt for every body."""

    def __init__(self, start: int = 0) -> None:
        self._numbers = count(start)

    def __call__(self) -> bytes:
        return next(self._numbers).to_bytes(32)


def context_of(document: JsonObject, find_reusable: FindReusable = nothing_reusable) -> Context:
    secrets = {"token": SECRET}
    return Context(RUN, IMPLEMENTATION, document["adapters"], {"type": "command"}, secrets=secrets,
                   find_reusable=find_reusable)  # fmt: skip


class Process:
    """One process that writes a ledger. `open` maps call ids to attempts without a reply.

    With `is_manual`, the test supplies every reply, and the ledger is closed when the run is sealed.
    """

    def __init__(
        self, document: JsonObject, directory: Path, clock: RunClock, find_reusable: FindReusable = nothing_reusable
    ) -> None:
        self.clock = clock
        self.machine = Machine(read_wave_plan(document), context_of(document, find_reusable))
        self.open: dict[str, Attempt] = {}
        self.commands: list[Attempt | str] = []
        self.is_manual = False
        self._resources = ExitStack()
        self._scrubber = Scrubber({"token": SECRET})
        is_new = not directory.exists()
        if is_new:
            ledger = create_ledger(
                directory, run=RUN, wave_plan=canonical(document), durability=Durability.NONE, clock=clock, salt=Salts()
            )
        else:
            restorer = StateRestorer(self.machine.state, directory, read_run_start(directory).plan)
            self._resources.callback(restorer.close)
            ledger = open_ledger(
                directory, durability=Durability.NONE, clock=clock, salt=lambda: next_salt(), observe=restorer.apply
            )
        next_salt = Salts(ledger.size << 32)
        self.ledger = self._resources.enter_context(ledger)
        self._recorder = Recorder(ledger, self.machine.state, self._scrubber)
        if is_new:
            self.machine.state.apply("run.opened", clock.now_us, {}, {})
        else:
            self.machine.state.seq = ledger.size
            clock.now_us = max(clock.now_us, self.machine.state.last_entry_us)
        self.is_new = is_new

    def begin(self) -> None:
        self.perform((self.machine.open if self.is_new else self.machine.resume)(self.clock.now_us))

    @property
    def outcome(self) -> Outcome | None:
        return self.machine.outcome

    def handle(self, event: Event) -> Transition:
        if isinstance(event, Replied):
            event = Replied(event.call, self._scrubber.scrub_reply(event.reply))
        step = self.machine.handle(event, self.clock.now_us)
        self.perform(step)
        return step

    def perform(self, step: Transition) -> None:
        self._recorder.write(step.entries)
        self._recorder.commit()
        for command in step.commands:
            if isinstance(command, Attempt):
                self.open[command.id] = command
                self.commands.append(command)
            else:
                self.commands.append(command.call)
        if self.is_manual and self.outcome is not None and self.outcome.status != "paused":
            self.close()

    def call_of(self, task: str) -> str:
        return next(call for call, attempt in self.open.items() if attempt.task == task)

    def reply(self, task: str, content: str | bytes = b"", **reply: Any) -> None:
        call = self.call_of(task)
        del self.open[call]
        self.handle(Replied(call, Reply(content.encode() if isinstance(content, str) else content, **reply)))

    def lose(self, task: str) -> None:
        call = self.call_of(task)
        del self.open[call]
        self.handle(Lost(call))

    def pass_time(self, span_ms: int) -> None:
        self.clock.now_us += span_ms * 1_000
        self.handle(TimePassed())

    def close(self) -> None:
        self._resources.close()


class Simulation:
    """Runs a plan in a world until the run is sealed."""

    def __init__(self, document: JsonObject, world: World, directory: Path, clock: RunClock | None = None) -> None:
        self._document = document
        self._world = world
        self._directory = directory
        self._clock = clock or RunClock(EPOCH_US)
        self._draw = world.draw("events")
        self.watch: Callable[[RunState], None] = lambda _state: None
        self.processes = 0

    def run(self) -> Outcome:
        for _ in range(MAX_PROCESSES):
            outcome = self._process()
            if outcome is not None and outcome.status != "paused":
                return outcome
            self._clock.now_us += self._draw.choice((0, 1_000, 3_000_000))
            self._decide()
        raise AssertionError("the run does not end")

    def _process(self) -> Outcome | None:
        """Run one process until it has nothing to do or is killed."""
        self.processes += 1
        process = Process(self._document, self._directory, self._clock, self._world.find_reusable)
        try:
            if process.is_new or not process.machine.is_waiting(self._clock.now_us):
                process.begin()
            else:
                return Outcome("paused", "gate")
            events = _Events(process, self._world, self._draw)
            for _ in range(MAX_EVENTS):
                self.watch(process.machine.state)
                if process.outcome is not None:
                    _check_idle(process)
                    return process.outcome
                if self.processes < 8 and is_due(self._draw, self._world.faults.crashes):
                    return None
                events.next(may_interrupt=self.processes < 12)
            raise AssertionError("the process does not end")
        finally:
            process.close()

    def _decide(self) -> None:
        """Decide gates as `forum gate` does between processes: some of the open gates, and in the end all of them."""
        process = Process(self._document, self._directory, self._clock)
        state = process.machine.state
        for unit in list(state.units.values()) if state.is_paused else ():
            gate = unit.gate
            if gate is None or gate.decision is not None or unit.state is not None:
                continue
            has_expired = gate.deadline_us is not None and gate.deadline_us <= self._clock.now_us
            if has_expired or (self.processes < 5 and self._draw.randrange(2)):
                continue
            decision = self._draw.choice(("approved", "approved", "rejected"))
            data = {"task": unit.name, "decision": decision, "by": "person", "authenticated": False,
                    "displayed": gate.displayed}  # fmt: skip
            is_edited = decision == "approved" and unit.task.instruction is not None and self._draw.randrange(2)
            bodies = {"edited": Body.text("do it otherwise")} if is_edited else {}
            process.ledger.append("gate.decided", data, bodies=bodies, causes=[gate.seq], actor="person:p")
        process.close()


class _Events:
    """Delivers events to a process in order of time, and simultaneous events in random order."""

    def __init__(self, process: Process, world: World, draw: Random) -> None:
        self._process = process
        self._world = world
        self._draw = draw
        self._scheduled: list[tuple[int, float, int, Event]] = []
        self._numbers = count()
        self._handled_commands = 0

    def next(self, *, may_interrupt: bool) -> None:
        process, machine = self._process, self._process.machine
        self._schedule()
        wake_us = machine.next_wake_us()
        assert self._scheduled or wake_us is not None, "no event is scheduled and no timer is set"
        assert len(machine.state.open_calls) <= machine.max_parallel
        if may_interrupt and is_due(self._draw, self._world.faults.interrupts):
            was_pausing = machine.is_pausing
            step = process.handle(Interrupted())
            assert was_pausing or machine.is_pausing or process.outcome is not None
            _check_nothing_starts(step)
            return
        if is_due(self._draw, self._world.faults.decisions) and self._decide():
            return
        if self._scheduled and (wake_us is None or self._scheduled[0][0] <= wake_us + self._draw.choice((0, 0, 5_000))):
            due_us, _, _, event = heappop(self._scheduled)
        else:
            assert wake_us is not None
            due_us, event = wake_us + self._draw.choice((0, 0, 1, 9_000)), TimePassed()
        process.clock.now_us = max(process.clock.now_us, due_us)
        is_pausing = machine.is_pausing
        step = process.handle(event)
        if is_pausing:
            _check_nothing_starts(step)

    def _decide(self) -> bool:
        """Decide a gate while the process runs: in time, too late, or about a different document."""
        machine, clock = self._process.machine, self._process.clock
        units = [unit for unit in machine.state.units.values() if unit.gate is not None]
        if not units:
            return False
        unit = self._draw.choice(units)
        assert unit.gate is not None
        was_open = unit.gate.decision is None and unit.state is None
        displayed = self._draw.choice((unit.gate.displayed, unit.gate.displayed, "0" * 64))
        decision = self._draw.choice(("approved", "approved", "rejected"))
        is_edited = decision == "approved" and unit.task.instruction is not None and self._draw.randrange(2)
        texts = {"edited": b"do it otherwise"} if is_edited else {"reason": b"because"}
        clock.now_us += self._draw.choice((0, 1_000))
        has_expired = unit.gate.deadline_us is not None and unit.gate.deadline_us <= clock.now_us
        is_pausing = machine.is_pausing
        step = self._process.handle(Decided(unit.name, decision, "person:p", displayed, texts))
        if is_pausing:
            _check_nothing_starts(step)
        decided = [entry.data["task"] for entry in step.entries if entry.actor == "person:p"]
        is_accepted = was_open and not has_expired and displayed != "0" * 64
        assert decided == ([unit.name] if is_accepted else [])
        return True

    def _schedule(self) -> None:
        commands = self._process.commands
        for command in commands[self._handled_commands :]:
            world = self._world
            reports = world.answers(command) if isinstance(command, Attempt) else world.reports_on_cancel(command)
            for delay_ms, event in reports:
                due_us = self._process.clock.now_us + delay_ms * 1_000
                heappush(self._scheduled, (due_us, self._draw.random(), next(self._numbers), event))
        self._handled_commands = len(commands)


def _check_nothing_starts(step: Transition) -> None:
    assert not [command for command in step.commands if isinstance(command, Attempt)]
    assert not [entry for entry in step.entries if entry.kind in ("task.started", "verdict.asked", "wave.opened")]


def _check_idle(process: Process) -> None:
    """A process that has ended ignores every event."""
    events: list[Event] = [TimePassed(), Interrupted(), *map(Lost, process.open)]
    for event in events:
        assert process.machine.handle(event, process.clock.now_us + 10_000_000) == Transition([], [])


def entries_of(directory: Path) -> Iterator[Mapping[str, Any]]:
    for line in (directory / "ledger.jsonl").read_bytes().split(b"\n")[:-1]:
        yield orjson.loads(line)


def virtual_run(document: JsonObject, world: World, directory: Path) -> Outcome:
    """Execute a run in virtual time."""
    clock, scrubber = RunClock(EPOCH_US), Scrubber({"token": SECRET})
    machine = Machine(read_wave_plan(document), context_of(document, world.find_reusable))
    machine.state.apply("run.opened", EPOCH_US, {}, {})
    with create_ledger(
        directory, run=RUN, wave_plan=canonical(document), durability=Durability.NONE, clock=clock, salt=Salts()
    ) as ledger:
        recorder = Recorder(ledger, machine.state, scrubber)
        return drive(VirtualDriver(machine, recorder, lambda _name, _settings: world, scrubber, clock))


def start_process(directory: Path, document: JsonObject, find_reusable: FindReusable = nothing_reusable) -> Process:
    """Start a process that begins or resumes a run. The test supplies every reply."""
    process = Process(document, directory, RunClock(EPOCH_US), find_reusable)
    process.is_manual = True
    process.begin()
    return process


def ends(directory: Path) -> dict[str, str]:
    """Return how each unit ended, after checking that the ledger is sealed and valid."""
    assert runner_verdict(directory) == VALID
    ended = [entry["data"] for entry in entries_of(directory) if entry["kind"] == "task.ended"]
    return {data["task"]: "/".join(data[key] for key in ("state", "reason") if key in data) for data in ended}


def kinds(directory: Path) -> list[str]:
    return [entry["kind"] for entry in entries_of(directory)]


def replay_ledger(directory: Path) -> ReplayResult:
    replayer = Replayer(directory)
    try:
        return replayer.replay()
    finally:
        replayer.close()
