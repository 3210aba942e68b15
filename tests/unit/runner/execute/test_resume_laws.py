"""Invariants of runs that are cut off at any entry and resumed.

FORUM_EXAMPLES sets the number of runs; by default a few fixed ones are executed.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import orjson
from hypothesis import given

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.drive import RunClock
from forum_runner.execute.machine import Interrupted, RunState
from forum_runner.ledger.begin import open_ledger
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.files import Durability
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.ledger.run_reader import read_entries
from forum_runner.wave_plan.wave_plan_reader import read_wave_plan
from unit.runner.execute.ledger_verdicts import VALID, runner_verdict, verdicts
from unit.runner.execute.random_laws import broken_laws, task_of, time_of
from unit.runner.execute.random_plans import DIGESTS, JsonObject, data_edge, ladder_of, small_plan, wave_plans
from unit.runner.execute.random_runs import RUN, Process, Salts, Simulation, ends, entries_of, kinds, start_process
from unit.runner.execute.random_settings import examples
from unit.runner.execute.random_worlds import FaultRates, World, fault_rates
from unit.runner.execute.truncated_ledgers import copy_truncated, snapshot

Entry = Mapping[str, Any]

RETRY = {"attempts": 3, "backoff_ms": 0, "max_backoff_ms": 0}
NETWORK = Failure(ErrorKind.NETWORK, "it broke off")
CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")


@examples(80)
@given(document=wave_plans(), faults=fault_rates())
def test_the_entries_alone_restore_the_state_of_the_process_that_wrote_them(
    document: JsonObject, faults: FaultRates
) -> None:
    snapshots: dict[int, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        simulation = Simulation(document, World(faults), directory)
        simulation.watch = lambda state: snapshots.__setitem__(state.seq, snapshot(state))

        simulation.run()

        for state in restored_states(document, directory):
            if state.seq in snapshots:
                assert snapshot(state) == snapshots[state.seq]


def restored_states(document: JsonObject, directory: Path) -> Iterator[RunState]:
    state = RunState(read_wave_plan(document), RUN)
    with (directory / "bodies.tar").open("rb") as stream:
        bodies = RecordedBodies(stream)
        for entry in read_entries(directory):
            state.apply(entry.kind, parse_time(entry.at), entry.data, bodies.of_entry(entry))
            yield state


@examples(25, share=0.1)
@given(document=wave_plans(max_tasks=5), faults=fault_rates())
def test_a_run_that_is_truncated_at_any_entry_can_be_resumed(document: JsonObject, faults: FaultRates) -> None:
    uninterrupted = replace(faults, crashes=0, interrupts=0)
    with tempfile.TemporaryDirectory() as folder:
        directory, target = Path(folder) / "run", Path(folder) / "cut"
        Simulation(document, World(faults), directory).run()
        entries = list(entries_of(directory))

        for count in range(1, len(entries)):
            copy_truncated(directory, target, entries, count, is_torn=count % 3 == 0)
            Simulation(document, World(uninterrupted), target, RunClock(time_of(entries[count - 1]))).run()

            resumed = list(entries_of(target))
            assert resumed[:count] == entries[:count]
            assert broken_laws(document, resumed) == []
            assert rerun_units(document, resumed, count) == set()
            verdict = verdicts(target)["judge"] if count == len(entries) // 2 else runner_verdict(target)
            assert verdict == ("valid", []), f"after {count} of {len(entries)} entries"
            shutil.rmtree(target)


@examples(20, share=0.1)
@given(document=wave_plans(max_tasks=5), faults=fault_rates())
def test_a_run_with_redacted_bodies_can_be_resumed_to_its_end(document: JsonObject, faults: FaultRates) -> None:
    draw = World(faults).draw("redactions")
    uninterrupted = replace(faults, crashes=0, interrupts=0)
    with tempfile.TemporaryDirectory() as folder:
        directory, target = Path(folder) / "run", Path(folder) / "cut"
        Simulation(document, World(faults), directory).run()
        entries = list(entries_of(directory))
        count = draw.randrange(1, len(entries))
        copy_truncated(directory, target, entries, count, is_torn=False)
        clock = RunClock(time_of(entries[count - 1]))
        redact_some(target, clock, draw)

        Simulation(document, World(uninterrupted), target, clock).run()

        assert verdicts(target) == {"runner": VALID, "judge": VALID}


def redact_some(directory: Path, clock: RunClock, draw: Random) -> None:
    """Redact few, many or all bodies except the wave plan."""
    share = draw.choice((0.1, 0.5, 1))
    bodies = {
        body["digest"]: (entry["seq"], name)
        for entry in list(entries_of(directory))[1:]
        for name, body in entry["bodies"].items()
    }
    with open_ledger(directory, durability=Durability.NONE, clock=clock, salt=Salts(1 << 200)) as ledger:
        for seq, name in bodies.values():
            if draw.random() < share:
                ledger.redact(seq, name, "it was private")


def rerun_units(document: JsonObject, entries: Sequence[Entry], count: int) -> set[str]:
    """Return the units that had an accepted result before the cut and started again after it."""
    started = {entry["data"]["task"] for entry in entries[count:] if entry["kind"] == "task.started"}
    return started & set(accepted(document, entries[:count]))


def accepted(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    oks: dict[str, int] = {}
    for entry in entries:
        unit = entry["data"].get("task")
        if entry["kind"] == "task.reused":
            yield unit
        elif entry["kind"] == "task.started":
            oks.pop(unit, None)
        elif entry["kind"] == "task.finished" and entry["data"]["status"] == "ok":
            oks[unit] = 0
        elif entry["kind"] == "verdict.given" and entry["data"]["verdict"] == "pass":
            oks[unit] += 1
    for unit, passed in oks.items():
        if passed == len(document["tasks"][task_of(document, unit)].get("accept", ())):
            yield unit


def test_a_task_that_becomes_ready_while_resuming_starts_once(tmp_path: Path) -> None:
    tasks: dict[str, JsonObject] = {
        "a": {"output": DIGESTS["list"]},
        "b": {"foreach": {"from": {"task": "a"}, "as": "item", "max": 3}},
    }
    run = start_process(tmp_path / "run", small_plan(tasks))
    run.reply("a", "[1]")
    resumed_process = resume_truncated(tmp_path / "run", run, before="task.ended")

    resumed_process.reply("b[0]", "done")

    assert ends(tmp_path / "cut") == {"a": "passed", "b[0]": "passed", "b": "passed"}
    assert kinds(tmp_path / "cut").count("task.expanded") == 1


def test_a_value_is_truncated_although_the_ledger_ends_with_its_delivery(tmp_path: Path) -> None:
    tasks: dict[str, JsonObject] = {"a": {}, "b": {"needs": [data_edge("a", max_bytes=3)]}}
    run = start_process(tmp_path / "run", small_plan(tasks))
    run.reply("a", "a long text")
    resumed_process = resume_truncated(tmp_path / "run", run, before="context.cut")

    assert "a long text" not in resumed_process.open[resumed_process.call_of("b")].prompt.text
    resumed_process.reply("b", "done")
    assert ends(tmp_path / "cut") == {"a": "passed", "b": "passed"}
    assert kinds(tmp_path / "cut").count("context.cut") == 1


def test_resuming_does_not_skip_a_tier_that_was_not_tried(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": ladder_of("writer", 3)}))
    run.reply("a", failure=Failure(ErrorKind.CONTEXT_LENGTH, "too long"))
    resumed_process = resume_truncated(tmp_path / "run", run, before="task.started", number=2)

    assert resumed_process.open[resumed_process.call_of("a")].adapter == "middle"
    resumed_process.close()


def test_the_wall_time_of_every_process_counts(tmp_path: Path) -> None:
    """After two restarts, the third process still counts the time of the first."""
    document = small_plan({"a": {"idempotent": True, "retry": RETRY}}, budget={"wall_ms": 10_000})
    for failures in range(2):
        run = start_process(tmp_path / "run", document)
        run.clock.now_us = run.machine.state.last_entry_us + 4_000_000
        run.reply("a", failure=NETWORK)
        run.close()
        assert run.machine.wall_left_ms() == 10_000 - 4_000 * (failures + 1)
    last = start_process(tmp_path / "run", document)

    assert last.machine.wall_left_ms() == 2_000
    last.close()


def test_resuming_in_the_same_process_equals_resuming_in_another(tmp_path: Path) -> None:
    """Unrecorded state does not survive: neither the interrupt nor the timer for a deadline."""
    gate = {"question": ["go on?"], "on_deadline": "reject", "deadline_ms": 1_000_000}
    run = start_process(tmp_path / "run", small_plan({"a": {"gate": gate}, "b": {}}))
    run.reply("b", "done")
    opened = run.machine.state.units["a"].gate
    assert opened is not None
    data = {"task": "a", "decision": "approved", "by": "person", "authenticated": False, "displayed": opened.displayed}
    run.ledger.append("gate.decided", data, causes=[opened.seq], actor="person:p")
    run.machine.state.apply("gate.decided", run.clock.now_us, data, {})

    run.perform(run.machine.resume(run.clock.now_us))
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.perform(run.machine.resume(run.clock.now_us))
    run.reply("a", "done")

    assert ends(tmp_path / "run") == {"b": "passed", "a": "passed"}


def test_a_run_with_a_redacted_reason_can_be_resumed(tmp_path: Path) -> None:
    document = small_plan({"a": {"output": DIGESTS["list"], "retry": RETRY}, "b": {}})
    run = start_process(tmp_path / "run", document)
    run.reply("a", "no list")
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.reply("b", failure=CANCELLED)
    finished = next(entry for entry in entries_of(tmp_path / "run") if entry["kind"] == "task.finished")
    for body in ("detail", "reply"):
        run.ledger.redact(finished["seq"], body, "it was private")
    run.close()

    resumed_process = start_process(tmp_path / "run", document)
    resumed_process.reply("a", "[]")
    resumed_process.reply("b", "done")

    assert ends(tmp_path / "run") == {"a": "passed", "b": "passed"}


def resume_truncated(directory: Path, run: Process, *, before: str, number: int = 1) -> Process:
    """Truncate the ledger before the given entry of a kind and resume it in another process."""
    run.close()
    entries = list(entries_of(directory))
    positions = [position for position, entry in enumerate(entries) if entry["kind"] == before]
    target = directory.with_name("cut")
    copy_truncated(directory, target, entries, positions[number - 1], is_torn=False)
    return start_process(target, orjson.loads((directory / "wave-plan.json").read_bytes()))
