"""What holds of every run: random plans in random worlds, until they are sealed. Then the bugs that this found.

FORUM_EXAMPLES is the number of runs; without it they are few, and always the same.
"""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.drive.virtual import EPOCH_US
from forum_runner.execute.machine import Interrupted, Outcome, Reusable, Transition
from forum_runner.ledger.body import JSON, Body
from unit.runner.execute.random_laws import broken_laws
from unit.runner.execute.random_plans import DIGESTS, SECRET, Form, data_edge, small_plan, wave_plans
from unit.runner.execute.random_runs import Play, begun, ends, entries_of, kinds, virtual_run
from unit.runner.execute.random_settings import examples
from unit.runner.execute.random_verdicts import VALID, runner_says, verdicts
from unit.runner.execute.random_worlds import OTHER_RUN, Temper, World, tempers

RETRY = {"attempts": 2, "backoff_ms": 5_000, "max_backoff_ms": 5_000}
NETWORK = Failure(ErrorKind.NETWORK, "it broke off")
CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
TIMEOUT = Failure(ErrorKind.TIMEOUT, "it took too long")


@examples(150)
@given(document=wave_plans(), temper=tempers())
def test_every_run_comes_to_an_end_and_holds(document: Form, temper: Temper) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"

        Play(document, World(temper), directory).run()

        assert broken_laws(document, list(entries_of(directory))) == []
        assert verdicts(directory) == {"runner": VALID, "judge": VALID}
        assert SECRET.encode() not in (directory / "bodies.tar").read_bytes()


@examples(60)
@given(document=wave_plans(), temper=tempers())
def test_in_virtual_time_a_run_is_the_same_to_the_byte(document: Form, temper: Temper) -> None:
    """Whatever the order in which the keys of its plan stand."""
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "one", Path(folder) / "two"

        outcome = virtual_run(document, World(temper), one)
        virtual_run(reordered(document), World(temper), two)

        for name in ("ledger.jsonl", "bodies.tar"):
            assert (one / name).read_bytes() == (two / name).read_bytes()
        assert outcome.status == "paused" or runner_says(one) == VALID


def reordered(value: Any) -> Any:
    """The same value, with the keys of every object the other way round."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def test_in_virtual_time_the_end_of_the_wall_time_and_a_timeout_may_come_together(tmp_path: Path) -> None:
    document = small_plan({"a": {}, "b": {}}, budget={"wall_ms": 1})

    outcome = virtual_run(document, World(Temper(delays=100)), tmp_path / "run")

    assert outcome == Outcome("stopped")
    assert ends(tmp_path / "run") == {"a": "stopped/budget", "b": "stopped/budget"}


def test_what_comes_late_finds_a_paused_run_at_rest(tmp_path: Path) -> None:
    gate = {"question": ["go on?"], "on_deadline": "approve", "deadline_ms": 1_000}
    run = begun(tmp_path / "run", small_plan({"a": {"gate": gate}, "b": {}}))
    run.reply("b", "done")
    assert run.outcome == Outcome("paused", "gate")

    run.pass_time(2_000)

    assert run.open == {}
    assert kinds(tmp_path / "run")[-1] == "run.paused"
    run.close()


def test_a_run_that_is_being_interrupted_is_not_woken_for_its_wall_time(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}}, budget={"wall_ms": 1_000}))
    run.handle(Interrupted())

    run.pass_time(2_000)

    assert run.machine.next_wake_us() is None
    run.reply("a", failure=CANCELLED)
    assert run.outcome == Outcome("paused", "interrupted")
    run.close()


def test_what_waits_for_a_rate_is_waited_for_though_a_gate_is_open(tmp_path: Path) -> None:
    """Its own gate was approved; the other one's is nobody's reason to pause yet."""
    soon = {"question": ["go on?"], "on_deadline": "approve", "deadline_ms": 1_000}
    tasks: dict[str, Form] = {"a": {}, "b": {"gate": soon}, "c": {"gate": {"question": ["?"], "on_deadline": "reject"}}}
    run = begun(tmp_path / "run", small_plan(tasks, rates={"small": {"requests_per_minute": 1}}))
    run.pass_time(1_000)
    run.reply("a", "done")

    assert run.outcome is None
    run.pass_time(60_000)
    run.reply("b", "done")
    assert run.outcome == Outcome("paused", "gate")
    run.close()


def test_an_answer_that_lacks_what_an_output_takes_is_a_mismatch(tmp_path: Path) -> None:
    tasks = {"a": {"output": DIGESTS["anything"], "retry": {**RETRY, "attempts": 2}}}
    run = begun(tmp_path / "run", small_plan(tasks, {"out": {"task": "a", "select": "/items"}}))
    run.reply("a", "{}")

    run.reply("a", "[]")

    assert ends(tmp_path / "run") == {"a": "failed/error"}
    assert kinds(tmp_path / "run").count("task.started") == 2


def test_a_result_that_lacks_what_an_output_takes_is_not_reused(tmp_path: Path) -> None:
    tasks = {"a": {"output": DIGESTS["anything"], "cache": True}}
    found = Reusable("cache", OTHER_RUN, 1, Body(b"{}", JSON))
    document = small_plan(tasks, {"out": {"task": "a", "select": "/items"}})
    run = begun(tmp_path / "run", document, lambda _unit, _fingerprint: found)

    run.reply("a", '{"items":[]}')

    assert ends(tmp_path / "run") == {"a": "passed"}
    assert (tmp_path / "run" / "outputs" / "out.json").read_bytes() == b"[]"


def test_an_output_is_kept_for_its_checks_when_all_who_would_read_it_are_skipped(tmp_path: Path) -> None:
    tasks: dict[str, Form] = {"a": {"accept": [{"agent": "critic"}]}, "b": {}, "c": {"needs": [data_edge("a")]}}
    run = begun(tmp_path / "run", small_plan(tasks))
    run.reply("b", failure=Failure(ErrorKind.AUTH, "no"))

    run.reply("a", "done")
    run.reply("a", '{"verdict":"pass","reason":"good"}')

    assert ends(tmp_path / "run") == {"a": "passed", "b": "failed/error", "c": "skipped/failure"}


def test_a_call_that_ends_cancelled_by_itself_is_not_made_for_ever(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}}))

    for _ in range(4):
        run.reply("a", failure=CANCELLED)

    assert ends(tmp_path / "run") == {"a": "failed/error"}


def test_a_check_that_is_lost_every_time_is_not_asked_for_for_ever(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {"accept": [{"agent": "critic"}]}}))
    run.reply("a", "done")

    for _ in range(4):
        run.lose("a")

    assert ends(tmp_path / "run") == {"a": "failed/error"}


def test_a_check_that_the_wall_time_ends_stops_its_task(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {"accept": [{"agent": "critic"}]}}, budget={"wall_ms": 1_000}))
    run.reply("a", "done")
    run.pass_time(1_000)

    run.reply("a", failure=CANCELLED)

    assert ends(tmp_path / "run") == {"a": "stopped/budget"}
    assert run.outcome == Outcome("stopped")


def test_a_call_that_takes_all_the_wall_time_is_stopped(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}, "b": {"needs": [data_edge("a")]}}, budget={"wall_ms": 1_000}))
    assert run.open[run.call_of("a")].limits.timeout_ms == 1_000
    run.clock.now_us += 1_000_000

    run.reply("a", failure=TIMEOUT)

    assert ends(tmp_path / "run") == {"a": "stopped/budget", "b": "stopped/budget"}
    assert run.outcome == Outcome("stopped")


def test_nothing_waits_for_another_try_when_the_wall_time_is_over(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {"retry": RETRY}}, budget={"wall_ms": 1_000}))
    run.pass_time(1_000)

    run.reply("a", failure=NETWORK)

    assert ends(tmp_path / "run") == {"a": "stopped/budget"}


def test_a_wait_for_another_try_ends_with_the_wall_time(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {"retry": RETRY}}, budget={"wall_ms": 1_000}))
    run.reply("a", failure=NETWORK)

    run.pass_time(1_000)

    assert ends(tmp_path / "run") == {"a": "stopped/budget"}
    assert run.clock.now_us == EPOCH_US + 1_000_000


def test_a_run_without_any_time_says_what_stopped_it(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}}, budget={"wall_ms": 0}))

    assert run.outcome == Outcome("stopped")
    assert kinds(tmp_path / "run") == ["run.opened", "budget.stopped", "task.ended", "run.sealed"]


def test_a_handled_event_after_the_end_leaves_no_step(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}}))
    run.reply("a", "done")

    assert run.handle(Interrupted()) == Transition([], [])


def test_words_of_the_other_side_that_are_no_text_do_not_stop_a_run(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}}))

    run.reply("a", "done", model="\ud800", finish="stop")

    assert ends(tmp_path / "run") == {"a": "passed"}


def test_an_edited_instruction_is_other_work(tmp_path: Path) -> None:
    gate = {"question": ["go on?"], "on_deadline": "reject"}
    document = small_plan({"a": {"gate": gate, "cache": True}})
    prints = [_fingerprint(tmp_path / name, document, bodies) for name, bodies in EDITS.items()]

    assert prints[0] == prints[1] != prints[2]


EDITS: dict[str, dict[str, Any]] = {"one": {}, "two": {}, "three": {"edited": Body.text("otherwise")}}


def _fingerprint(directory: Path, document: Form, bodies: dict[str, Any]) -> str:
    first = begun(directory, document)
    gate = first.machine.state.units["a"].gate
    assert gate is not None
    data = {"task": "a", "decision": "approved", "by": "person", "authenticated": False, "displayed": gate.displayed}
    first.ledger.append("gate.decided", data, bodies=bodies, causes=[gate.seq], actor="person:p")
    first.close()
    begun(directory, document).close()
    started = next(entry for entry in entries_of(directory) if entry["kind"] == "task.started")
    return str(started["data"]["fingerprint"])


def test_why_an_answer_was_not_good_enough_is_told_until_there_is_another_answer(tmp_path: Path) -> None:
    tasks = {"a": {"output": DIGESTS["list"], "retry": {**RETRY, "attempts": 3, "backoff_ms": 0}}}
    run = begun(tmp_path / "run", small_plan(tasks))
    run.reply("a", "no list")
    told = run.open[run.call_of("a")].prompt

    run.reply("a", failure=NETWORK)

    assert "no list" in told.text
    assert run.open[run.call_of("a")].prompt == told
    run.reply("a", "[]")
    assert ends(tmp_path / "run") == {"a": "passed"}


def test_instances_that_wait_at_gates_end_when_a_run_stops(tmp_path: Path) -> None:
    gate = {"question": ["go on?"], "on_deadline": "reject"}
    foreach = {"from": {"task": "a"}, "as": "item", "max": 2}
    tasks: dict[str, Form] = {"a": {"output": DIGESTS["list"]}, "b": {"foreach": foreach, "gate": gate}, "c": {}}
    run = begun(tmp_path / "run", small_plan(tasks))
    run.reply("a", "[1,2]")

    run.reply("c", failure=Failure(ErrorKind.AUTH, "no"))

    skipped = {"b[0]": "skipped/failure", "b[1]": "skipped/failure", "b": "skipped/failure"}
    assert ends(tmp_path / "run") == {"a": "passed", "c": "failed/error", **skipped}
    assert run.machine.state.open_gates == 0


def test_a_task_some_of_whose_instances_were_done_when_the_run_stopped_is_cancelled(tmp_path: Path) -> None:
    tasks: dict[str, Form] = {
        "a": {"output": DIGESTS["list"]},
        "b": {"foreach": {"from": {"task": "a"}, "as": "item", "max": 3}},
        "c": {},
    }
    run = begun(tmp_path / "run", small_plan(tasks, max_parallel=2))
    run.reply("a", "[1,2,3]")
    run.reply("c", failure=Failure(ErrorKind.AUTH, "no"))

    run.reply("b[0]", "done")

    assert ends(tmp_path / "run")["b"] == "cancelled/failure"
    assert run.outcome == Outcome("failed")


def test_a_passed_run_may_lack_an_output_that_cannot_be_made(tmp_path: Path) -> None:
    """A part of a list of instances, of which there are none: a used plan's output makes such values."""
    tasks: dict[str, Form] = {
        "a": {"output": DIGESTS["list"]},
        "b": {"foreach": {"from": {"task": "a"}, "as": "item", "max": 3}},
    }
    run = begun(tmp_path / "run", small_plan(tasks, {"out": {"each": "b", "select": "/0"}}))

    run.reply("a", "[]")

    assert ends(tmp_path / "run") == {"a": "passed", "b": "passed"}
