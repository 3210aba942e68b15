"""What happened to a run is not recorded, and yet it is told again; what did not happen is told apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from forum_adapters.base import ErrorKind, Failure, Reply, Usage
from forum_runner.execute.machine import Interrupted, Replied, Reusable, Unit
from forum_runner.ledger.body import TEXT, Body
from unit.runner.execute.random_cuts import cut
from unit.runner.execute.random_plans import Form, finished, small_plan
from unit.runner.execute.random_runs import begun, entries_of, kinds, told_again
from unit.runner.execute.random_worlds import OTHER_RUN

CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
PAUSED = ["task.finished", "task.finished", "run.paused"]
Edit = Callable[[list[dict[str, Any]]], None]


def check_same(directory: Path) -> None:
    retold = told_again(directory)
    assert retold.divergence is None
    assert (retold.entries, retold.is_complete) == (len(kinds(directory)), True)


def altered(directory: Path, edit: Edit) -> None:
    """Writes the entries anew, with an edit; nobody but a verifier looks at the chain."""
    entries: list[dict[str, Any]] = [dict(entry) for entry in entries_of(directory)]
    edit(entries)
    (directory / "ledger.jsonl").write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))


# Whole milliseconds are counted: at the first of these the time is over, and nobody would be woken for it yet.
@pytest.mark.parametrize("later_us", [999_999, 2_000_000])
def test_the_time_of_a_run_that_is_over_while_it_pauses_is_not_told(tmp_path: Path, later_us: int) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}, "b": {}, "c": {}}, budget={"wall_ms": 1_000}))
    run.clock.now_us += 1
    run.reply("c", "done")
    run.handle(Interrupted())
    run.clock.now_us += later_us
    run.reply("a", failure=CANCELLED)
    run.reply("b", failure=CANCELLED)
    run.close()

    assert kinds(tmp_path / "run")[-4:] == ["task.ended", *PAUSED]
    check_same(tmp_path / "run")


def test_what_comes_late_may_find_the_time_over_before_anybody_is_woken_for_it(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}, "b": {}}, budget={"wall_ms": 1_000}))
    call = run.call_of("a")
    run.clock.now_us += 1
    run.reply("a", "done")
    run.clock.now_us += 999_999
    run.handle(Replied(call, Reply(b"again")))
    run.close()

    assert kinds(tmp_path / "run")[-2:] == ["task.ended", "budget.stopped"]
    check_same(tmp_path / "run")


def test_an_interrupt_may_come_at_the_moment_at_which_the_time_is_over(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}, "b": {}}, budget={"wall_ms": 1_000}))
    run.clock.now_us += 1_000_000
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.reply("b", failure=CANCELLED)
    run.close()

    assert kinds(tmp_path / "run")[-4:] == ["budget.stopped", *PAUSED]
    check_same(tmp_path / "run")


def test_a_budget_may_cut_a_call_of_a_run_that_pauses(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {"budget": {"wall_ms": 1_000}}, "b": {}}, max_parallel=1))
    run.handle(Interrupted())
    run.clock.now_us += 1_000_000
    run.reply("a", failure=Failure(ErrorKind.TIMEOUT, "it took too long"))
    run.close()

    assert kinds(tmp_path / "run")[-4:] == ["task.finished", "budget.stopped", "task.ended", "run.paused"]
    check_same(tmp_path / "run")


def test_a_process_that_was_interrupted_may_be_killed_before_it_pauses(tmp_path: Path) -> None:
    document = small_plan({"a": {}, "b": {}, "c": {}})
    run = begun(tmp_path / "run", document)
    run.handle(Interrupted())
    run.reply("a", "one")
    run.reply("b", "two")
    run.close()
    again = begun(tmp_path / "run", document)
    again.close()

    assert kinds(tmp_path / "run")[4:7] == ["task.finished", "task.finished", "run.resumed"]
    check_same(tmp_path / "run")


def test_a_unit_whose_time_came_may_wait_on_behind_another(tmp_path: Path) -> None:
    # There is room for two calls as long as no more than one token was used.
    retry = {"attempts": 2, "backoff_ms": 1_000, "max_backoff_ms": 1_000}
    document = small_plan({"a": {}, "b": {}, "c": {}}, retry=retry, budget={"output_tokens": 2 * 4_096 + 1})
    run = begun(tmp_path / "run", document)
    run.reply("a", failure=Failure(ErrorKind.NETWORK), usage=Usage(output_tokens=1))
    run.reply("b", failure=Failure(ErrorKind.MALFORMED), usage=Usage(output_tokens=1))
    run.pass_time(2_000)
    run.reply("c", "done", usage=Usage())
    run.close()

    begun_last = list(entries_of(tmp_path / "run"))[-1]
    assert (begun_last["kind"], begun_last["data"]["task"]) == ("task.started", "b")
    check_same(tmp_path / "run")


def test_a_result_of_an_earlier_run_may_be_found_when_a_unit_is_looked_at_again(tmp_path: Path) -> None:
    found: list[Reusable | None] = [Reusable("cache", OTHER_RUN, 7, Body(b"old", TEXT)), None]

    def find(unit: Unit, _fingerprint: str) -> Reusable | None:
        return found.pop() if unit.name == "b" else None

    document = small_plan({"a": {}, "b": {"cache": True}}, rates={"small": {"requests_per_minute": 1}})
    run = begun(tmp_path / "run", document, find)
    run.pass_time(60_000)
    run.reply("a", "new")

    assert found == []
    assert kinds(tmp_path / "run")[1:4] == ["task.started", "task.reused", "task.ended"]
    check_same(tmp_path / "run")


def with_type(document: Form, adapter_type: str) -> Form:
    """The same plan, with adapters of another type."""
    adapters = {name: {**form, "type": adapter_type} for name, form in document["adapters"].items()}
    parts = {name: part for name, part in document.items() if name not in ("bundle", "digest")}
    return finished({**parts, "adapters": adapters})


@pytest.mark.parametrize("adapter_type", ["x-own", "openai"])
def test_an_adapter_may_use_the_words_of_the_runner(tmp_path: Path, adapter_type: str) -> None:
    words = Failure(ErrorKind.MALFORMED, "the answer is not a single JSON value, or it repeats a key")
    run = begun(tmp_path / "run", with_type(small_plan({"a": {}}), adapter_type))
    run.reply("a", "a text that can be read", failure=words)

    check_same(tmp_path / "run")


@pytest.mark.parametrize("adapter_type", ["x-own", "openai"])
def test_a_judge_may_use_the_words_of_the_runner(tmp_path: Path, adapter_type: str) -> None:
    words = Failure(ErrorKind.MALFORMED, "the answer is not a single JSON value, or it repeats a key", 1_500)
    document = with_type(small_plan({"a": {"accept": [{"agent": "critic"}]}}), adapter_type)
    run = begun(tmp_path / "run", document)
    run.reply("a", "done")
    run.reply("a", b'{"reason":"good","verdict":"pass"}', failure=words)

    check_same(tmp_path / "run")


@pytest.mark.parametrize("content", [b"\xff", b"good\xe2\x82"])
@pytest.mark.parametrize("stderr", [b"", b"\x82\xac bad"])
@pytest.mark.parametrize("failure", [None, Failure(ErrorKind.EXIT_STATUS, "status 1")])
def test_a_check_by_a_command_may_write_what_is_no_text(
    tmp_path: Path, content: bytes, stderr: bytes, failure: Failure | None
) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {"accept": [{"command": [["check"]]}]}}))
    run.reply("a", "done")
    run.reply("a", content, failure=failure, stderr=stderr)

    check_same(tmp_path / "run")


def test_an_entry_with_another_time_than_the_event_that_led_to_it_is_found(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}, "b": {}}, max_parallel=1))
    run.reply("a", "done")
    run.close()
    assert kinds(tmp_path / "run")[2:] == ["task.finished", "task.ended", "task.started"]

    def start_later(entries: list[dict[str, Any]]) -> None:
        entries[4]["at"] = entries[4]["at"].replace(".000000Z", ".000001Z")

    altered(tmp_path / "run", start_later)

    divergence = told_again(tmp_path / "run").divergence
    assert divergence is not None
    assert (divergence.seq, divergence.replayed) == (4, None)


def test_what_follows_a_process_that_was_killed_before_its_seal_is_compared(tmp_path: Path) -> None:
    document = small_plan({"a": {}})
    begun(tmp_path / "whole", document).reply("a", "done")
    entries = list(entries_of(tmp_path / "whole"))
    cut(tmp_path / "whole", tmp_path / "run", entries, 3, is_torn=False)
    begun(tmp_path / "run", document)
    assert kinds(tmp_path / "run")[2:] == ["task.finished", "run.resumed", "task.ended", "run.sealed"]
    check_same(tmp_path / "run")

    def end_otherwise(entries: list[dict[str, Any]]) -> None:
        entries[4]["data"] = {"task": "a", "state": "tolerated", "reason": "error"}

    altered(tmp_path / "run", end_otherwise)

    divergence = told_again(tmp_path / "run").divergence
    assert divergence is not None
    assert divergence.seq == 4


def test_nothing_is_told_after_a_pause(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", small_plan({"a": {}}))
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.close()

    def pause_twice(entries: list[dict[str, Any]]) -> None:
        entries.append({**entries[-1], "seq": len(entries)})

    altered(tmp_path / "run", pause_twice)

    divergence = told_again(tmp_path / "run").divergence
    assert divergence is not None
    assert (divergence.seq, divergence.replayed) == (4, None)
