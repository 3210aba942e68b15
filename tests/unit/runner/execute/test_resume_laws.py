"""What holds of every run that is cut off, wherever that happens, and gone on with.

FORUM_EXAMPLES is the number of runs; without it they are few, and always the same.
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
from forum_runner.execute.drive.recorder import RunClock
from forum_runner.execute.machine import Interrupted, RunPlan, RunState
from forum_runner.ledger.begin import open_ledger
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.files import Durability
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.ledger.run_reader import read_entries
from forum_runner.wave_plan.wave_plan_reader import read_wave_plan
from unit.runner.execute.random_cuts import cut, projection
from unit.runner.execute.random_laws import broken_laws, task_of, time_of
from unit.runner.execute.random_plans import DIGESTS, Form, data_edge, ladder_of, small_plan, wave_plans
from unit.runner.execute.random_runs import RUN, Play, Process, Salts, begun, ends, entries_of, kinds
from unit.runner.execute.random_settings import examples
from unit.runner.execute.random_verdicts import VALID, runner_says, verdicts
from unit.runner.execute.random_worlds import Temper, World, tempers

Entry = Mapping[str, Any]

RETRY = {"attempts": 3, "backoff_ms": 0, "max_backoff_ms": 0}
NETWORK = Failure(ErrorKind.NETWORK, "it broke off")
CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")


@examples(80)
@given(document=wave_plans(), temper=tempers())
def test_the_entries_alone_make_the_state_of_the_process_that_wrote_them(document: Form, temper: Temper) -> None:
    known: dict[int, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        play = Play(document, World(temper), directory)
        play.watch = lambda state: known.__setitem__(state.seq, projection(state))

        play.run()

        for state in folded(document, directory):
            if state.seq in known:
                assert projection(state) == known[state.seq]


def folded(document: Form, directory: Path) -> Iterator[RunState]:
    state = RunState(RunPlan(read_wave_plan(document)), RUN)
    with (directory / "bodies.tar").open("rb") as stream:
        bodies = RecordedBodies(stream)
        for entry in read_entries(directory):
            state.apply(entry.kind, read_time(entry.at), entry.data, bodies.of(entry))
            yield state


@examples(25, share=0.1)
@given(document=wave_plans(max_tasks=5), temper=tempers())
def test_a_run_that_is_cut_at_any_entry_is_gone_on_with(document: Form, temper: Temper) -> None:
    calm = replace(temper, crashes=0, interrupts=0)
    with tempfile.TemporaryDirectory() as folder:
        directory, target = Path(folder) / "run", Path(folder) / "cut"
        Play(document, World(temper), directory).run()
        entries = list(entries_of(directory))

        for kept in range(1, len(entries)):
            cut(directory, target, entries, kept, is_torn=kept % 3 == 0)
            Play(document, World(calm), target, RunClock(time_of(entries[kept - 1]))).run()

            told = list(entries_of(target))
            assert told[:kept] == entries[:kept]
            assert broken_laws(document, told) == []
            assert run_again(document, told, kept) == set()
            said = verdicts(target)["judge"] if kept == len(entries) // 2 else runner_says(target)
            assert said == ("valid", []), f"after {kept} of {len(entries)} entries"
            shutil.rmtree(target)


@examples(20, share=0.1)
@given(document=wave_plans(max_tasks=5), temper=tempers())
def test_a_run_of_which_any_bodies_were_redacted_comes_to_its_end(document: Form, temper: Temper) -> None:
    draw = World(temper).draw("redactions")
    calm = replace(temper, crashes=0, interrupts=0)
    with tempfile.TemporaryDirectory() as folder:
        directory, target = Path(folder) / "run", Path(folder) / "cut"
        Play(document, World(temper), directory).run()
        entries = list(entries_of(directory))
        kept = draw.randrange(1, len(entries))
        cut(directory, target, entries, kept, is_torn=False)
        clock = RunClock(time_of(entries[kept - 1]))
        redact_some(target, clock, draw)

        Play(document, World(calm), target, clock).run()

        assert verdicts(target) == {"runner": VALID, "judge": VALID}


def redact_some(directory: Path, clock: RunClock, draw: Random) -> None:
    """Few, many or all bodies but the wave plan."""
    share = draw.choice((0.1, 0.5, 1))
    found = {
        body["digest"]: (entry["seq"], name)
        for entry in list(entries_of(directory))[1:]
        for name, body in entry["bodies"].items()
    }
    with open_ledger(directory, durability=Durability.NONE, clock=clock, salt=Salts(1 << 200)) as ledger:
        for seq, name in found.values():
            if draw.random() < share:
                ledger.redact(seq, name, "it was private")


def run_again(document: Form, entries: Sequence[Entry], kept: int) -> set[str]:
    """The units whose results held before the cut, and which began again after it."""
    began = {entry["data"]["task"] for entry in entries[kept:] if entry["kind"] == "task.started"}
    return began & set(holding(document, entries[:kept]))


def holding(document: Form, entries: Sequence[Entry]) -> Iterator[str]:
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


def test_what_is_released_while_a_run_is_taken_up_arrives_once(tmp_path: Path) -> None:
    tasks: dict[str, Form] = {
        "a": {"output": DIGESTS["list"]},
        "b": {"foreach": {"from": {"task": "a"}, "as": "item", "max": 3}},
    }
    run = begun(tmp_path / "run", small_plan(tasks))
    run.reply("a", "[1]")
    again = begun_again(tmp_path / "run", run, before="task.ended")

    again.reply("b[0]", "done")

    assert ends(tmp_path / "cut") == {"a": "passed", "b[0]": "passed", "b": "passed"}
    assert kinds(tmp_path / "cut").count("task.expanded") == 1


def test_a_value_is_cut_though_its_hand_over_was_the_last_that_was_told(tmp_path: Path) -> None:
    tasks: dict[str, Form] = {"a": {}, "b": {"needs": [data_edge("a", max_bytes=3)]}}
    run = begun(tmp_path / "run", small_plan(tasks))
    run.reply("a", "a long text")
    again = begun_again(tmp_path / "run", run, before="context.cut")

    assert "a long text" not in again.open[again.call_of("b")].prompt.text
    again.reply("b", "done")
    assert ends(tmp_path / "cut") == {"a": "passed", "b": "passed"}
    assert kinds(tmp_path / "cut").count("context.cut") == 1


def test_a_tier_that_was_not_tried_is_not_passed_over(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": ladder_of("writer", 3)}))
    run.reply("a", failure=Failure(ErrorKind.CONTEXT_LENGTH, "too long"))
    again = begun_again(tmp_path / "run", run, before="task.started", number=2)

    assert again.open[again.call_of("a")].adapter == "middle"
    again.close()


def test_the_time_of_every_process_counts(tmp_path: Path) -> None:
    """Twice cut off: what the first process took must not be forgotten by the third."""
    document = small_plan({"a": {"idempotent": True, "retry": RETRY}}, budget={"wall_ms": 10_000})
    for failures in range(2):
        run = begun(tmp_path / "run", document)
        run.clock.now_us = run.machine.state.latest_us + 4_000_000
        run.reply("a", failure=NETWORK)
        run.close()
        assert run.machine.wall_left_ms() == 10_000 - 4_000 * (failures + 1)
    last = begun(tmp_path / "run", document)

    assert last.machine.wall_left_ms() == 2_000
    last.close()


def test_a_process_that_goes_on_by_itself_does_what_another_one_would(tmp_path: Path) -> None:
    """Nothing of what only it knew stays: neither that it was interrupted, nor that somebody waits for a deadline."""
    gate = {"question": ["go on?"], "on_deadline": "reject", "deadline_ms": 1_000_000}
    run = begun(tmp_path / "run", small_plan({"a": {"gate": gate}, "b": {}}))
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


def test_a_redacted_reason_keeps_nobody_from_going_on(tmp_path: Path) -> None:
    document = small_plan({"a": {"output": DIGESTS["list"], "retry": RETRY}, "b": {}})
    run = begun(tmp_path / "run", document)
    run.reply("a", "no list")
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.reply("b", failure=CANCELLED)
    finished = next(entry for entry in entries_of(tmp_path / "run") if entry["kind"] == "task.finished")
    for body in ("detail", "reply"):
        run.ledger.redact(finished["seq"], body, "it was private")
    run.close()

    again = begun(tmp_path / "run", document)
    again.reply("a", "[]")
    again.reply("b", "done")

    assert ends(tmp_path / "run") == {"a": "passed", "b": "passed"}


def begun_again(directory: Path, run: Process, *, before: str, number: int = 1) -> Process:
    """A process that goes on with a ledger that was cut before the first, or a later, entry of a kind."""
    run.close()
    entries = list(entries_of(directory))
    places = [place for place, entry in enumerate(entries) if entry["kind"] == before]
    target = directory.with_name("cut")
    cut(directory, target, entries, places[number - 1], is_torn=False)
    return begun(target, orjson.loads((directory / "wave-plan.json").read_bytes()))
