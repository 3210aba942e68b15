"""Starts a prepared run in the running event loop, and resumes one that stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from forum_adapters.base import Predictable, Site
from forum_adapters.plugins import PluginError
from forum_adapters.registry import make_adapter
from forum_runner.app.decision_box import DecisionBox
from forum_runner.app.invocation import INVOCATION
from forum_runner.app.open_run import DETERMINISTIC, open_deterministic_ledger, virtual_salt
from forum_runner.app.recorded_answers import RecordedPromptAdapter
from forum_runner.app.reuse import Reuse
from forum_runner.app.run_handle import EndedRun, RunHandle, ended_handle
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.app.runs_folder import check_is_free, new_directory
from forum_runner.errors import ExitCode, UnfinishedRunError, UsageError
from forum_runner.execute.drive import EPOCH_US, LiveDriver, Recorder, RunClock, SteadyClock, VirtualDriver
from forum_runner.execute.engines import Engine, LocalEngine, engine_factory
from forum_runner.execute.machine import Context, Machine, Outcome
from forum_runner.execute.resume import RunStart, StateRestorer, describe_resume
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.begin import create_ledger, open_ledger
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.files import Durability
from forum_runner.ledger.run_id import new_run_id
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.writer import IMPLEMENTATION, LedgerBrokenError, LedgerWriter, random_salt
from forum_runner.model import Allow
from forum_runner.observer import ObservedEntry, Observer
from forum_runner.workspace import Workspace

_MAX_RESUME_LINES = 50
_DETERMINISTIC_IMPLEMENTATION = {"name": "deterministic", "version": "1"}
# The number of steps in virtual time after which other tasks of the event loop may run.
_VIRTUAL_STEPS = 64


@dataclass(frozen=True, slots=True)
class RunServices:
    """The observer of a run, the results that it may reuse, and its engine. By default, the prepared run names it."""

    observer: Observer = field(default_factory=Observer)
    reuse: Reuse | None = None
    make_engine: Callable[[], Engine] | None = None


@dataclass(frozen=True, slots=True)
class _Mode:
    """The clock, the id and the salts of a live, scripted or deterministic run."""

    name: str
    clock: RunClock
    now: Callable[[], int]
    implementation: Mapping[str, str]
    run: str
    salt: Callable[[], bytes] = random_salt


@dataclass(frozen=True, slots=True)
class _OpenRun:
    """A run whose ledger is open. `resources` are closed when the run ends, the ledger last.

    `engine` is None in virtual time.
    """

    machine: Machine
    writer: LedgerWriter
    prepared: PreparedRun
    mode: _Mode
    services: RunServices
    engine: Engine | None
    resources: ExitStack


def start_run(
    prepared: PreparedRun,
    services: RunServices,
    workspace: Workspace,
    *,
    is_deterministic: bool = False,
    out: Path | None = None,
) -> RunHandle:
    """Starts a run, in the directory `out` or in a directory of the workspace."""
    if out is not None:
        check_is_free(out, has_invocation=True)
    mode = _mode(prepared, is_deterministic)
    services = _with_engine(services, prepared, mode.name)
    engine = _make_engine(services, prepared, mode.name)
    directory = out if out is not None else new_directory(workspace.runs, mode.run)
    reuse, invocation = services.reuse, prepared.invocation
    with _closed_on_error() as resources:
        writer = create_ledger(
            directory,
            run=mode.run,
            wave_plan=prepared.data,
            mode=mode.name,
            implementation=mode.implementation,
            origin=None if reuse is None else reuse.origin,
            durability=Durability(prepared.plan.policy.durability),
            clock=mode.clock,
            salt=mode.salt,
            # Written before the first entry, so that every ledger with entries can be resumed.
            extra_files={INVOCATION: (invocation if reuse is None else reuse.with_base(invocation)).encoded()},
        )
        resources.enter_context(writer)
        machine = Machine(prepared.plan, _context(prepared, mode, services))
        machine.state.apply("run.opened", mode.clock.now_us, {}, {})
        services.observer.opened(mode.run, directory, prepared.plan)
        resources.callback(services.observer.closed)
        run = _OpenRun(machine, writer, prepared, mode, services, engine, resources)
        return _drive(run, is_new=True)


def resume_run(directory: Path, prepared: PreparedRun, services: RunServices, start: RunStart) -> RunHandle:
    """Resumes a run that paused or was killed. One pass verifies its ledger and restores its state."""
    durability = Durability(prepared.plan.policy.durability)
    clock = RunClock(0)
    run, mode_name = start.entry.run, start.entry.data.mode
    services = _with_engine(services, prepared, mode_name)
    is_deterministic = mode_name == DETERMINISTIC
    implementation = _DETERMINISTIC_IMPLEMENTATION if is_deterministic else IMPLEMENTATION
    mode = _Mode(mode_name, clock, clock, implementation, run)
    machine = Machine(prepared.plan, _context(prepared, mode, services))
    with _closed_on_error() as resources:
        restorer = resources.enter_context(closing(StateRestorer(machine.state, directory, start.plan)))
        open_writer = open_deterministic_ledger if is_deterministic else open_ledger
        writer: LedgerWriter = resources.enter_context(
            open_writer(directory, durability=durability, clock=clock, observe=restorer.apply)
        )
        # Opening may have recorded torn tails, which are not part of the run.
        machine.state.seq = writer.size
        clock.now_us = machine.state.last_entry_us
        if not is_deterministic:
            mode = replace(mode, now=SteadyClock(clock.now_us))
            clock.now_us = mode.now()
        if machine.state.is_sealed:
            raise UsageError(
                f"run {writer.run} has finished; start a new run from it with 'forum resume {directory} --failed'"
            )
        services.observer.opened(run, directory, prepared.plan)
        resources.callback(services.observer.closed)
        services.observer.earlier_entries(_observed_entries(directory))
        if not is_deterministic and machine.is_waiting(clock.now_us):
            return ended_handle(EndedRun(directory, run, Outcome("paused", "gate")), resources)
        services.observer.resumed(islice(describe_resume(machine.state, clock.now_us), _MAX_RESUME_LINES))
        engine = _make_engine(services, prepared, mode_name)
        resumed = _OpenRun(machine, writer, prepared, mode, services, engine, resources)
        return _drive(resumed, is_new=False)


@contextmanager
def _closed_on_error() -> Iterator[ExitStack]:
    """Resources that are closed if the run cannot be started. Otherwise its handle closes them."""
    with ExitStack() as stack:
        yield stack.enter_context(ExitStack())
        stack.pop_all()


def _observed_entries(directory: Path) -> Iterator[ObservedEntry]:
    for entry in read_entries(directory):
        yield entry.seq, parse_time(entry.at), entry.kind, entry.data


def _mode(prepared: PreparedRun, is_deterministic: bool) -> _Mode:
    if not is_deterministic:
        now = SteadyClock()
        clock = RunClock(now())
        name = "live" if prepared.stand_in is None else "scripted"
        run = new_run_id(clock.now_us, random_salt()[:10])
        return _Mode(name, clock, now, IMPLEMENTATION, run)
    clock = RunClock(EPOCH_US)
    run = new_run_id(EPOCH_US, bytes.fromhex(prepared.plan.digest)[:10])
    salts = count()
    return _Mode(
        DETERMINISTIC, clock, clock, _DETERMINISTIC_IMPLEMENTATION, run, lambda: virtual_salt(run, str(next(salts)))
    )


def _context(prepared: PreparedRun, mode: _Mode, services: RunServices) -> Context:
    allow = prepared.plan.policy.allow
    settings = {name: adapter.settings for name, adapter in prepared.plan.adapters.items()}
    env = Allow().env if "*" in allow["env"] else allow["env"]
    check_settings: Mapping[str, Any] = {"type": "command", "env": list(env)}
    if (stand_in := prepared.stand_in) is not None:
        settings = dict.fromkeys(settings, stand_in)
        check_settings = stand_in
    return Context(
        run=mode.run,
        implementation=mode.implementation,
        settings=settings,
        check_settings=check_settings,
        site=Site(str(prepared.root), allow["env"], allow["hosts"]),
        secrets=prepared.secrets,
        find_reusable=(lambda _unit, _fingerprint: None) if services.reuse is None else services.reuse.find,
    )


def _drive(run: _OpenRun, *, is_new: bool) -> RunHandle:
    machine, mode, observer = run.machine, run.mode, run.services.observer
    scrubber = Scrubber(run.prepared.scrubbed)
    is_entry_ignored = getattr(observer.entry, "__func__", None) is Observer.entry
    watch = None if is_entry_ignored else observer.entry
    recorder = Recorder(run.writer, machine.state, scrubber, watch)
    directory, name = run.writer.directory, run.writer.run
    if run.engine is None:
        virtual = VirtualDriver(machine, recorder, _make_predictable_adapter, scrubber, mode.clock)
        work = _finish(run, lambda: _run_in_turns(virtual.steps(is_new=is_new)))
        return RunHandle(directory, name, work, None, run.resources)
    box = DecisionBox(directory)
    box.clear()
    driver = LiveDriver(machine, recorder, run.engine, scrubber, mode.clock, mode.now, observer.waiting, box.take)

    def pause() -> None:
        driver.interrupt()
        observer.stopping()

    return RunHandle(directory, name, _finish(run, lambda: driver.run(is_new=is_new)), pause, run.resources)


async def _run_in_turns(steps: Generator[None, None, Outcome]) -> Outcome:
    """Runs a driver in virtual time, and lets other tasks of the event loop run in between."""
    for number in count(1):
        try:
            next(steps)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        if number % _VIRTUAL_STEPS == 0:
            await asyncio.sleep(0)
    raise AssertionError


async def _finish(run: _OpenRun, drive: Callable[[], Awaitable[Outcome]]) -> EndedRun:
    """Drives the run, closes its ledger, and lets later runs find its results."""
    directory = run.writer.directory
    with run.resources:
        try:
            ended = EndedRun(directory, run.writer.run, await drive())
        except LedgerBrokenError as error:
            raise UnfinishedRunError(directory, str(error), ExitCode.INCOMPLETE) from error
        except asyncio.CancelledError:
            with suppress(LedgerBrokenError):
                run.writer.commit()  # waits for a thread that is committing
            raise
    reuse = run.services.reuse
    if reuse is None:
        return ended
    reuse.store_results(directory)
    return replace(ended, reuse_decisions=tuple(reuse.decisions))


def _make_engine(services: RunServices, prepared: PreparedRun, mode: str) -> Engine | None:
    recorded = prepared.recorded
    if mode == DETERMINISTIC:
        return None
    if recorded is not None:
        scrubber = Scrubber(prepared.scrubbed)
        return LocalEngine(
            lambda name, settings: RecordedPromptAdapter(make_adapter(name, settings), recorded.run, scrubber)
        )
    with _plugin_errors():
        return LocalEngine() if services.make_engine is None else services.make_engine()


def _with_engine(services: RunServices, prepared: PreparedRun, mode: str) -> RunServices:
    """Loads the engine before anything starts, because it may not be installed. Runs without calls need no engine."""
    if mode == DETERMINISTIC or prepared.recorded is not None or services.make_engine is not None:
        return services
    with _plugin_errors():
        return replace(services, make_engine=engine_factory(prepared.engine))


@contextmanager
def _plugin_errors() -> Iterator[None]:
    try:
        yield
    except PluginError as error:
        raise UsageError(str(error)) from error


def _make_predictable_adapter(name: str, settings: Mapping[str, Any]) -> Predictable:
    adapter = make_adapter(name, settings)
    if not isinstance(adapter, Predictable):
        raise UsageError(f"the adapter '{name}' cannot answer in virtual time")
    return adapter
