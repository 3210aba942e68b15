"""Runs a prepared workflow, and goes on with a run that stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from forum_adapters.base import Adapter, Predictable, Site
from forum_adapters.registry import make_adapter
from forum_runner.app.decision_box import DecisionBox
from forum_runner.app.invocation import INVOCATION, Invocation
from forum_runner.app.open_run import DETERMINISTIC, open_virtually, virtual_salt
from forum_runner.app.recorded_answers import AsRecorded
from forum_runner.app.run_preparation import Prepared
from forum_runner.app.runs_folder import check_is_free, keep_out_of_git
from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.execute.drive.event_loop import run_main
from forum_runner.execute.drive.live import LiveDriver, SteadyClock
from forum_runner.execute.drive.recorder import Recorder, RunClock
from forum_runner.execute.drive.virtual import EPOCH_US, VirtualDriver
from forum_runner.execute.engines.engine import Engine
from forum_runner.execute.engines.local import LocalEngine
from forum_runner.execute.machine import Context, Machine, Outcome, Reusable, Unit
from forum_runner.execute.resume import RunStart, StateRestorer, taken_up
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.begin import create_ledger, open_ledger
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.files import Durability
from forum_runner.ledger.run_id import new_run_id
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import RUNS
from forum_runner.ledger.writer import IMPLEMENTATION, LedgerBrokenError, LedgerWriter, random_salt
from forum_runner.model import Allow
from forum_runner.progress import Progress
from forum_runner.progress.silence import Silence

_MAX_TOLD = 50
_DETERMINISTIC = {"name": "deterministic", "version": "1"}
_EXIT_CODES = {
    "passed": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "stopped": ExitCode.BUDGET,
    "refused": ExitCode.REFUSED,
    "cancelled": ExitCode.INTERRUPTED,
}


class UnfinishedRunError(ForumError):
    """A run that was begun, and stopped before it could say so: what it holds can be gone on with."""

    def __init__(self, directory: Path, reason: str, exit_code: ExitCode) -> None:
        self.exit_code = exit_code
        super().__init__(f"{reason}; the run is in '{directory}', and goes on with: forum resume {directory}")


FindReusable = Callable[[Unit, str], Reusable | None]


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run, or a part of it, ended, and where it is."""

    directory: Path
    run: str
    outcome: Outcome

    @property
    def exit_code(self) -> ExitCode:
        if self.outcome.status == "paused":
            return ExitCode.PAUSED if self.outcome.reason == "gate" else ExitCode.INTERRUPTED
        return _EXIT_CODES[self.outcome.status]


@dataclass(frozen=True, slots=True)
class ReuseSource:
    """An earlier run that results are reused from, of the tasks `among`, or of all; `origin` is its id and its head."""

    directory: Path
    origin: Mapping[str, str] | None
    among: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class RunServices:
    """What a run is carried out with."""

    progress: Progress
    find_reusable: FindReusable = lambda _unit, _fingerprint: None
    make_engine: Callable[[], Engine] = LocalEngine
    tell: Callable[[str], None] = lambda _sentence: None


@dataclass(frozen=True, slots=True)
class _Mode:
    """Live, scripted or deterministic: clock, ids and, of a run that begins, salts."""

    name: str
    clock: RunClock
    now: Callable[[], int]
    implementation: Mapping[str, str]
    run: str
    salt: Callable[[], bytes] = random_salt


def start(
    prepared: Prepared,
    means: RunServices,
    *,
    is_deterministic: bool = False,
    out: Path | None = None,
    source: ReuseSource | None = None,
) -> Finished:
    """A new run. `out` is a directory of its own."""
    if out is not None:
        check_is_free(out, has_invocation=True)
    mode = _mode(prepared, is_deterministic)
    directory = out if out is not None else _free_directory(mode.run)
    durability = Durability(prepared.wave_plan["policy"]["durability"])
    with create_ledger(
        directory,
        run=mode.run,
        wave_plan=prepared.data,
        mode=mode.name,
        implementation=mode.implementation,
        origin=None if source is None else source.origin,
        durability=durability,
        clock=mode.clock,
        salt=mode.salt,
        # Whoever finds a ledger finds all that it takes to go on with it.
        beside={INVOCATION: _invocation(prepared, source).encoded()},
    ) as writer:
        machine = Machine(prepared.plan, _context(prepared, mode, means))
        machine.state.apply("run.opened", mode.clock.now_us, {}, {})
        means.progress.opened(mode.run, directory, prepared.wave_plan)
        outcome = _drive(machine, writer, prepared, mode, means, is_new=True)
    return Finished(directory, mode.run, outcome)


def go_on(directory: Path, prepared: Prepared, means: RunServices, beginning: RunStart) -> Finished:
    """A run that was paused, or cut off. In one pass its ledger is verified, and its state made from the entries."""
    durability = Durability(prepared.wave_plan["policy"]["durability"])
    clock = RunClock(0)
    run, mode_name = beginning.entry["run"], beginning.entry["data"]["mode"]
    is_deterministic = mode_name == DETERMINISTIC
    implementation = _DETERMINISTIC if is_deterministic else IMPLEMENTATION
    mode = _Mode(mode_name, clock, clock, implementation, run)
    machine = Machine(prepared.plan, _context(prepared, mode, means))
    with ExitStack() as held:
        restorer = held.enter_context(closing(StateRestorer(machine.state, directory, beginning.plan)))
        opening = open_virtually if is_deterministic else open_ledger
        writer: LedgerWriter = held.enter_context(
            opening(directory, durability=durability, clock=clock, look=restorer.observe)
        )
        # Opening may have added that it set torn tails aside, which tells nothing of the run.
        machine.state.seq = writer.size
        clock.now_us = machine.state.latest_us
        if not is_deterministic:
            mode = _Mode(mode_name, clock, SteadyClock(clock.now_us), implementation, run)
            clock.now_us = mode.now()
        if machine.state.is_sealed:
            raise UsageError(f"the run {writer.run} is finished; `--failed` begins a new one from it")
        means.progress.opened(run, directory, prepared.wave_plan)
        held.callback(means.progress.close)
        _recall(directory, means.progress)
        if not is_deterministic and machine.is_waiting(clock.now_us):
            return Finished(directory, writer.run, Outcome("paused", "gate"))
        for sentence in islice(taken_up(machine.state, clock.now_us), _MAX_TOLD):
            means.tell(sentence)
        outcome = _drive(machine, writer, prepared, mode, means, is_new=False)
        return Finished(directory, writer.run, outcome)


def _recall(directory: Path, progress: Progress) -> None:
    """Lets what earlier processes wrote count in what is shown.

    It is read once more for that: nothing is shown of a ledger before the pass that opens it has found it to hold.
    """
    if not isinstance(progress, Silence):
        for entry in read_entries(directory):
            progress.recall(entry.seq, read_time(entry.at), entry.kind, entry.data)


def _mode(prepared: Prepared, is_deterministic: bool) -> _Mode:
    if not is_deterministic:
        now = SteadyClock()
        clock = RunClock(now())
        name = "live" if prepared.stand_in is None else "scripted"
        run = new_run_id(clock.now_us, random_salt()[:10])
        return _Mode(name, clock, now, IMPLEMENTATION, run, random_salt)
    clock = RunClock(EPOCH_US)
    run = new_run_id(EPOCH_US, bytes.fromhex(prepared.wave_plan["digest"])[:10])
    salts = count()
    return _Mode(DETERMINISTIC, clock, clock, _DETERMINISTIC, run, lambda: virtual_salt(run, str(next(salts))))


def _free_directory(run: str) -> Path:
    """A deterministic run has the same id every time: the second one does not take the first one's place."""
    keep_out_of_git()
    directory = RUNS / run
    for number in count(2):
        if not directory.exists():
            break
        directory = RUNS / f"{run}.{number}"
    return directory


def _context(prepared: Prepared, mode: _Mode, means: RunServices) -> Context:
    plan = prepared.wave_plan
    allow = plan["policy"]["allow"]
    settings: dict[str, Mapping[str, Any]] = dict(plan["adapters"])
    env = list(Allow().env) if "*" in allow["env"] else allow["env"]
    check_settings: Mapping[str, Any] = {"type": "command", "env": env}
    if (stand_in := prepared.stand_in) is not None:
        settings = dict.fromkeys(settings, stand_in)
        check_settings = stand_in
    return Context(
        run=mode.run,
        implementation=mode.implementation,
        settings=settings,
        check_settings=check_settings,
        site=Site(str(prepared.root), tuple(allow["env"]), tuple(allow["hosts"])),
        secrets=prepared.secrets,
        find_reusable=means.find_reusable,
    )


def _drive(
    machine: Machine, writer: LedgerWriter, prepared: Prepared, mode: _Mode, means: RunServices, *, is_new: bool
) -> Outcome:
    scrubber = Scrubber(prepared.scrubbed)
    directory = writer.directory
    watch = None if isinstance(means.progress, Silence) else means.progress.entry
    recorder = Recorder(writer, machine.state, scrubber, watch)
    try:
        if mode.name == DETERMINISTIC:
            virtual = VirtualDriver(machine, recorder, _predictable, scrubber, mode.clock)
            return virtual.run(is_new=is_new)
        return run_main(_drive_live(machine, recorder, prepared, scrubber, mode, means, directory, is_new=is_new))
    except LedgerBrokenError as error:
        raise UnfinishedRunError(directory, str(error), ExitCode.INCOMPLETE) from error
    except KeyboardInterrupt:
        with suppress(LedgerBrokenError):
            writer.commit()  # which waits for a thread that does it already
        raise UnfinishedRunError(directory, "interrupted at once", ExitCode.INTERRUPTED) from None
    finally:
        means.progress.close()


async def _drive_live(
    machine: Machine,
    recorder: Recorder,
    prepared: Prepared,
    scrubber: Scrubber,
    mode: _Mode,
    means: RunServices,
    directory: Path,
    *,
    is_new: bool,
) -> Outcome:
    recorded = prepared.recorded
    engine = means.make_engine() if recorded is None else LocalEngine(partial(_as_recorded, recorded.run, scrubber))
    box = DecisionBox(directory)
    box.clear()
    waiting = means.progress.waiting
    driver = LiveDriver(machine, recorder, engine, scrubber, mode.clock, mode.now, waiting, box.take)
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(driver.run(is_new=is_new))
    presses = count(1)

    def interrupt() -> None:
        # The first asks for an orderly pause; the second does not wait for anybody.
        if next(presses) == 1:
            driver.interrupt()
            means.progress.stopping()
        else:
            task.cancel()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, interrupt)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _as_recorded(run: str, scrubber: Scrubber, name: str, settings: Mapping[str, Any]) -> Adapter:
    return AsRecorded(make_adapter(name, settings), run, scrubber)


def _predictable(name: str, settings: Mapping[str, Any]) -> Predictable:
    adapter = make_adapter(name, settings)
    if not isinstance(adapter, Predictable):
        raise UsageError(f"the adapter '{name}' cannot answer in virtual time")
    return adapter


def _invocation(prepared: Prepared, source: ReuseSource | None) -> Invocation:
    answers_from = None if prepared.recorded is None else prepared.recorded.directory
    base, among = (None, None) if source is None else (source.directory.absolute(), source.among)
    given = prepared.given
    selected = {"only": given.selected.only, "start": given.selected.start, "until": given.selected.until}
    return Invocation(
        prepared.root, prepared.workflow, prepared.answers, prepared.script, answers_from, base, among, given.texts,
        given.file, selected,
    )  # fmt: skip
