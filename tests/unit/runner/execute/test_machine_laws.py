"""Invariants of every run, checked on random plans in random worlds, followed by regression tests for bugs found.

FORUM_EXAMPLES sets the number of runs; by default a few fixed ones are executed.
"""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.drive import EPOCH_US
from forum_runner.execute.machine import Interrupted, Outcome, Reusable, Transition
from forum_runner.ledger.body import JSON, Body
from unit.runner.execute.ledger_verdicts import VALID, runner_verdict, verdicts
from unit.runner.execute.random_laws import broken_laws
from unit.runner.execute.random_plans import DIGESTS, SECRET, JsonObject, data_edge, small_plan, wave_plans
from unit.runner.execute.random_runs import Simulation, ends, entries_of, kinds, start_process, virtual_run
from unit.runner.execute.random_settings import examples
from unit.runner.execute.random_worlds import OTHER_RUN, FaultRates, World, fault_rates

RETRY = {"attempts": 2, "backoff_ms": 5_000, "max_backoff_ms": 5_000}
NETWORK = Failure(ErrorKind.NETWORK, "it broke off")
CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
TIMEOUT = Failure(ErrorKind.TIMEOUT, "it took too long")


@examples(150)
@given(document=wave_plans(), faults=fault_rates())
def test_every_run_ends_with_a_valid_ledger(document: JsonObject, faults: FaultRates) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"

        Simulation(document, World(faults), directory).run()

        assert broken_laws(document, list(entries_of(directory))) == []
        assert verdicts(directory) == {"runner": VALID, "judge": VALID}
        assert SECRET.encode() not in (directory / "bodies.tar").read_bytes()


@examples(60)
@given(document=wave_plans(), faults=fault_rates())
def test_runs_in_virtual_time_are_byte_identical(document: JsonObject, faults: FaultRates) -> None:
    """The order of keys in the plan does not matter."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"

        outcome = virtual_run(document, World(faults), first)
        virtual_run(reordered(document), World(faults), second)

        for name in ("ledger.jsonl", "bodies.tar"):
            assert (first / name).read_bytes() == (second / name).read_bytes()
        assert outcome.status == "paused" or runner_verdict(first) == VALID


def reordered(value: Any) -> Any:
    """Return the same value with the keys of every object reversed."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def test_the_wall_time_and_a_timeout_may_end_at_the_same_virtual_time(tmp_path: Path) -> None:
    document = small_plan({"a": {}, "b": {}}, budget={"wall_ms": 1})

    outcome = virtual_run(document, World(FaultRates(delays=100)), tmp_path / "run")

    assert outcome == Outcome("stopped")
    assert ends(tmp_path / "run") == {"a": "stopped/budget", "b": "stopped/budget"}


def test_a_deadline_that_passes_during_a_pause_changes_nothing(tmp_path: Path) -> None:
    gate = {"question": ["go on?"], "on_deadline": "approve", "deadline_ms": 1_000}
    run = start_process(tmp_path / "run", small_plan({"a": {"gate": gate}, "b": {}}))
    run.reply("b", "done")
    assert run.outcome == Outcome("paused", "gate")

    run.pass_time(2_000)

    assert run.open == {}
    assert kinds(tmp_path / "run")[-1] == "run.paused"
    run.close()


def test_an_interrupted_run_is_not_woken_for_its_wall_time(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}}, budget={"wall_ms": 1_000}))
    run.handle(Interrupted())

    run.pass_time(2_000)

    assert run.machine.next_wake_us() is None
    run.reply("a", failure=CANCELLED)
    assert run.outcome == Outcome("paused", "interrupted")
    run.close()


def test_a_run_waits_for_a_rate_limit_even_though_a_gate_is_open(tmp_path: Path) -> None:
    """The gate of `b` is approved, and the open gate of `c` does not pause the run yet."""
    soon = {"question": ["go on?"], "on_deadline": "approve", "deadline_ms": 1_000}
    tasks: dict[str, JsonObject] = {
        "a": {},
        "b": {"gate": soon},
        "c": {"gate": {"question": ["?"], "on_deadline": "reject"}},
    }
    run = start_process(tmp_path / "run", small_plan(tasks, rates={"small": {"requests_per_minute": 1}}))
    run.pass_time(1_000)
    run.reply("a", "done")

    assert run.outcome is None
    run.pass_time(60_000)
    run.reply("b", "done")
    assert run.outcome == Outcome("paused", "gate")
    run.close()


def test_an_answer_without_the_value_an_output_selects_is_a_mismatch(tmp_path: Path) -> None:
    tasks = {"a": {"output": DIGESTS["anything"], "retry": {**RETRY, "attempts": 2}}}
    run = start_process(tmp_path / "run", small_plan(tasks, {"out": {"task": "a", "select": "/items"}}))
    run.reply("a", "{}")

    run.reply("a", "[]")

    assert ends(tmp_path / "run") == {"a": "failed/error"}
    assert kinds(tmp_path / "run").count("task.started") == 2


def test_a_result_without_the_value_an_output_selects_is_not_reused(tmp_path: Path) -> None:
    tasks = {"a": {"output": DIGESTS["anything"], "cache": True}}
    found = Reusable("cache", OTHER_RUN, 1, Body(b"{}", JSON))
    document = small_plan(tasks, {"out": {"task": "a", "select": "/items"}})
    run = start_process(tmp_path / "run", document, lambda _unit, _fingerprint: found)

    run.reply("a", '{"items":[]}')

    assert ends(tmp_path / "run") == {"a": "passed"}
    assert (tmp_path / "run" / "outputs" / "out.json").read_bytes() == b"[]"


def test_an_output_is_kept_for_its_checks_when_all_its_readers_are_skipped(tmp_path: Path) -> None:
    tasks: dict[str, JsonObject] = {"a": {"accept": [{"agent": "critic"}]}, "b": {}, "c": {"needs": [data_edge("a")]}}
    run = start_process(tmp_path / "run", small_plan(tasks))
    run.reply("b", failure=Failure(ErrorKind.AUTH, "no"))

    run.reply("a", "done")
    run.reply("a", '{"verdict":"pass","reason":"good"}')

    assert ends(tmp_path / "run") == {"a": "passed", "b": "failed/error", "c": "skipped/failure"}


def test_a_call_that_reports_itself_cancelled_is_not_repeated_forever(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}}))

    for _ in range(4):
        run.reply("a", failure=CANCELLED)

    assert ends(tmp_path / "run") == {"a": "failed/error"}


def test_a_check_that_is_always_lost_is_not_repeated_forever(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {"accept": [{"agent": "critic"}]}}))
    run.reply("a", "done")

    for _ in range(4):
        run.lose("a")

    assert ends(tmp_path / "run") == {"a": "failed/error"}


def test_a_check_ended_by_the_wall_time_stops_its_task(tmp_path: Path) -> None:
    run = start_process(
        tmp_path / "run", small_plan({"a": {"accept": [{"agent": "critic"}]}}, budget={"wall_ms": 1_000})
    )
    run.reply("a", "done")
    run.pass_time(1_000)

    run.reply("a", failure=CANCELLED)

    assert ends(tmp_path / "run") == {"a": "stopped/budget"}
    assert run.outcome == Outcome("stopped")


def test_a_call_that_uses_up_the_wall_time_is_stopped(tmp_path: Path) -> None:
    run = start_process(
        tmp_path / "run", small_plan({"a": {}, "b": {"needs": [data_edge("a")]}}, budget={"wall_ms": 1_000})
    )
    assert run.open[run.call_of("a")].limits.timeout_ms == 1_000
    run.clock.now_us += 1_000_000

    run.reply("a", failure=TIMEOUT)

    assert ends(tmp_path / "run") == {"a": "stopped/budget", "b": "stopped/budget"}
    assert run.outcome == Outcome("stopped")


def test_no_task_waits_for_a_retry_after_the_wall_time(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {"retry": RETRY}}, budget={"wall_ms": 1_000}))
    run.pass_time(1_000)

    run.reply("a", failure=NETWORK)

    assert ends(tmp_path / "run") == {"a": "stopped/budget"}


def test_waiting_for_a_retry_ends_with_the_wall_time(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {"retry": RETRY}}, budget={"wall_ms": 1_000}))
    run.reply("a", failure=NETWORK)

    run.pass_time(1_000)

    assert ends(tmp_path / "run") == {"a": "stopped/budget"}
    assert run.clock.now_us == EPOCH_US + 1_000_000


def test_a_run_with_zero_wall_time_records_what_stopped_it(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}}, budget={"wall_ms": 0}))

    assert run.outcome == Outcome("stopped")
    assert kinds(tmp_path / "run") == ["run.opened", "budget.stopped", "task.ended", "run.sealed"]


def test_an_event_after_the_end_changes_nothing(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}}))
    run.reply("a", "done")

    assert run.handle(Interrupted()) == Transition([], [])


def test_an_unencodable_model_name_does_not_stop_a_run(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}}))

    run.reply("a", "done", model="\ud800", finish="stop")

    assert ends(tmp_path / "run") == {"a": "passed"}


def test_an_edited_instruction_changes_the_fingerprint(tmp_path: Path) -> None:
    gate = {"question": ["go on?"], "on_deadline": "reject"}
    document = small_plan({"a": {"gate": gate, "cache": True}})
    fingerprints = [_fingerprint(tmp_path / name, document, bodies) for name, bodies in EDITS.items()]

    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


EDITS: dict[str, dict[str, Any]] = {"one": {}, "two": {}, "three": {"edited": Body.text("otherwise")}}


def _fingerprint(directory: Path, document: JsonObject, bodies: dict[str, Any]) -> str:
    first = start_process(directory, document)
    gate = first.machine.state.units["a"].gate
    assert gate is not None
    data = {"task": "a", "decision": "approved", "by": "person", "authenticated": False, "displayed": gate.displayed}
    first.ledger.append("gate.decided", data, bodies=bodies, causes=[gate.seq], actor="person:p")
    first.close()
    start_process(directory, document).close()
    started = next(entry for entry in entries_of(directory) if entry["kind"] == "task.started")
    return str(started["data"]["fingerprint"])


def test_feedback_is_repeated_until_the_next_answer(tmp_path: Path) -> None:
    tasks = {"a": {"output": DIGESTS["list"], "retry": {**RETRY, "attempts": 3, "backoff_ms": 0}}}
    run = start_process(tmp_path / "run", small_plan(tasks))
    run.reply("a", "no list")
    prompt = run.open[run.call_of("a")].prompt

    run.reply("a", failure=NETWORK)

    assert "no list" in prompt.text
    assert run.open[run.call_of("a")].prompt == prompt
    run.reply("a", "[]")
    assert ends(tmp_path / "run") == {"a": "passed"}


def test_instances_waiting_at_gates_end_when_a_run_stops(tmp_path: Path) -> None:
    gate = {"question": ["go on?"], "on_deadline": "reject"}
    foreach = {"from": {"task": "a"}, "as": "item", "max": 2}
    tasks: dict[str, JsonObject] = {"a": {"output": DIGESTS["list"]}, "b": {"foreach": foreach, "gate": gate}, "c": {}}
    run = start_process(tmp_path / "run", small_plan(tasks))
    run.reply("a", "[1,2]")

    run.reply("c", failure=Failure(ErrorKind.AUTH, "no"))

    skipped = {"b[0]": "skipped/failure", "b[1]": "skipped/failure", "b": "skipped/failure"}
    assert ends(tmp_path / "run") == {"a": "passed", "c": "failed/error", **skipped}
    assert run.machine.state.open_gates == 0


def test_a_task_with_unstarted_instances_is_cancelled_when_the_run_stops(tmp_path: Path) -> None:
    tasks: dict[str, JsonObject] = {
        "a": {"output": DIGESTS["list"]},
        "b": {"foreach": {"from": {"task": "a"}, "as": "item", "max": 3}},
        "c": {},
    }
    run = start_process(tmp_path / "run", small_plan(tasks, max_parallel=2))
    run.reply("a", "[1,2,3]")
    run.reply("c", failure=Failure(ErrorKind.AUTH, "no"))

    run.reply("b[0]", "done")

    assert ends(tmp_path / "run")["b"] == "cancelled/failure"
    assert run.outcome == Outcome("failed")


def test_a_passed_run_may_lack_an_output_that_selects_a_missing_value(tmp_path: Path) -> None:
    """The output selects from an empty list of instances, as outputs of used plans can."""
    tasks: dict[str, JsonObject] = {
        "a": {"output": DIGESTS["list"]},
        "b": {"foreach": {"from": {"task": "a"}, "as": "item", "max": 3}},
    }
    run = start_process(tmp_path / "run", small_plan(tasks, {"out": {"each": "b", "select": "/0"}}))

    run.reply("a", "[]")

    assert ends(tmp_path / "run") == {"a": "passed", "b": "passed"}
