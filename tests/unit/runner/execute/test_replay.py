"""Replay reconstructs unrecorded events from the ledger and detects entries they could not have caused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from forum_adapters.base import ErrorKind, Failure, Reply, Usage
from forum_runner.execute.machine import Interrupted, Replied, Reusable, Unit
from forum_runner.ledger.body import TEXT, Body
from unit.runner.execute.random_plans import JsonObject, complete_document, small_plan
from unit.runner.execute.random_runs import entries_of, kinds, replay_ledger, start_process
from unit.runner.execute.random_worlds import OTHER_RUN
from unit.runner.execute.truncated_ledgers import copy_truncated

CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
PAUSED = ["task.finished", "task.finished", "run.paused"]
Edit = Callable[[list[dict[str, Any]]], None]


def check_same(directory: Path) -> None:
    replayed = replay_ledger(directory)
    assert replayed.divergence is None
    assert (replayed.entries, replayed.is_complete) == (len(kinds(directory)), True)


def rewrite(directory: Path, edit: Edit) -> None:
    """Rewrite the ledger with an edit. The chain is not repaired: only a verifier checks it."""
    entries: list[dict[str, Any]] = [dict(entry) for entry in entries_of(directory)]
    edit(entries)
    (directory / "ledger.jsonl").write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))


# Time counts in whole milliseconds: at the first value, the wall time has run out, but no timer would expire yet.
@pytest.mark.parametrize("later_us", [999_999, 2_000_000])
def test_wall_time_that_runs_out_during_a_pause_is_not_recorded(tmp_path: Path, later_us: int) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}, "b": {}, "c": {}}, budget={"wall_ms": 1_000}))
    run.clock.now_us += 1
    run.reply("c", "done")
    run.handle(Interrupted())
    run.clock.now_us += later_us
    run.reply("a", failure=CANCELLED)
    run.reply("b", failure=CANCELLED)
    run.close()

    assert kinds(tmp_path / "run")[-4:] == ["task.ended", *PAUSED]
    check_same(tmp_path / "run")


def test_a_late_reply_may_reveal_that_the_wall_time_is_over(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}, "b": {}}, budget={"wall_ms": 1_000}))
    call = run.call_of("a")
    run.clock.now_us += 1
    run.reply("a", "done")
    run.clock.now_us += 999_999
    run.handle(Replied(call, Reply(b"resumed")))
    run.close()

    assert kinds(tmp_path / "run")[-2:] == ["task.ended", "budget.stopped"]
    check_same(tmp_path / "run")


def test_an_interrupt_may_coincide_with_the_end_of_the_wall_time(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}, "b": {}}, budget={"wall_ms": 1_000}))
    run.clock.now_us += 1_000_000
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.reply("b", failure=CANCELLED)
    run.close()

    assert kinds(tmp_path / "run")[-4:] == ["budget.stopped", *PAUSED]
    check_same(tmp_path / "run")


def test_a_budget_may_end_a_call_of_a_pausing_run(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {"budget": {"wall_ms": 1_000}}, "b": {}}, max_parallel=1))
    run.handle(Interrupted())
    run.clock.now_us += 1_000_000
    run.reply("a", failure=Failure(ErrorKind.TIMEOUT, "it took too long"))
    run.close()

    assert kinds(tmp_path / "run")[-4:] == ["task.finished", "budget.stopped", "task.ended", "run.paused"]
    check_same(tmp_path / "run")


def test_an_interrupted_process_may_be_killed_before_it_pauses(tmp_path: Path) -> None:
    document = small_plan({"a": {}, "b": {}, "c": {}})
    run = start_process(tmp_path / "run", document)
    run.handle(Interrupted())
    run.reply("a", "one")
    run.reply("b", "two")
    run.close()
    resumed = start_process(tmp_path / "run", document)
    resumed.close()

    assert kinds(tmp_path / "run")[4:7] == ["task.finished", "task.finished", "run.resumed"]
    check_same(tmp_path / "run")


def test_a_unit_whose_backoff_ended_may_keep_waiting_for_budget(tmp_path: Path) -> None:
    # The budget allows two calls at once as long as at most one token was used.
    retry = {"attempts": 2, "backoff_ms": 1_000, "max_backoff_ms": 1_000}
    document = small_plan({"a": {}, "b": {}, "c": {}}, retry=retry, budget={"output_tokens": 2 * 4_096 + 1})
    run = start_process(tmp_path / "run", document)
    run.reply("a", failure=Failure(ErrorKind.NETWORK), usage=Usage(output_tokens=1))
    run.reply("b", failure=Failure(ErrorKind.MALFORMED), usage=Usage(output_tokens=1))
    run.pass_time(2_000)
    run.reply("c", "done", usage=Usage())
    run.close()

    last_entry = list(entries_of(tmp_path / "run"))[-1]
    assert (last_entry["kind"], last_entry["data"]["task"]) == ("task.started", "b")
    check_same(tmp_path / "run")


def test_a_cached_result_may_be_found_on_a_later_lookup(tmp_path: Path) -> None:
    found: list[Reusable | None] = [Reusable("cache", OTHER_RUN, 7, Body(b"old", TEXT)), None]

    def find(unit: Unit, _fingerprint: str) -> Reusable | None:
        return found.pop() if unit.name == "b" else None

    document = small_plan({"a": {}, "b": {"cache": True}}, rates={"small": {"requests_per_minute": 1}})
    run = start_process(tmp_path / "run", document, find)
    run.pass_time(60_000)
    run.reply("a", "new")

    assert found == []
    assert kinds(tmp_path / "run")[1:4] == ["task.started", "task.reused", "task.ended"]
    check_same(tmp_path / "run")


def with_type(document: JsonObject, adapter_type: str) -> JsonObject:
    """Return the same plan with adapters of a different type."""
    adapters = {name: {**settings, "type": adapter_type} for name, settings in document["adapters"].items()}
    parts = {name: part for name, part in document.items() if name not in ("bundle", "digest")}
    return complete_document({**parts, "adapters": adapters})


@pytest.mark.parametrize("adapter_type", ["x-own", "openai"])
def test_an_adapter_may_use_the_same_message_as_the_runner(tmp_path: Path, adapter_type: str) -> None:
    failure = Failure(ErrorKind.MALFORMED, "the answer is not a single JSON value, or it repeats a key")
    run = start_process(tmp_path / "run", with_type(small_plan({"a": {}}), adapter_type))
    run.reply("a", "a text that can be read", failure=failure)

    check_same(tmp_path / "run")


@pytest.mark.parametrize("adapter_type", ["x-own", "openai"])
def test_a_judge_may_use_the_same_message_as_the_runner(tmp_path: Path, adapter_type: str) -> None:
    failure = Failure(ErrorKind.MALFORMED, "the answer is not a single JSON value, or it repeats a key", 1_500)
    document = with_type(small_plan({"a": {"accept": [{"agent": "critic"}]}}), adapter_type)
    run = start_process(tmp_path / "run", document)
    run.reply("a", "done")
    run.reply("a", b'{"reason":"good","verdict":"pass"}', failure=failure)

    check_same(tmp_path / "run")


@pytest.mark.parametrize("content", [b"\xff", b"good\xe2\x82"])
@pytest.mark.parametrize("stderr", [b"", b"\x82\xac bad"])
@pytest.mark.parametrize("failure", [None, Failure(ErrorKind.EXIT_STATUS, "status 1")])
def test_a_command_check_may_write_invalid_utf_8(
    tmp_path: Path, content: bytes, stderr: bytes, failure: Failure | None
) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {"accept": [{"command": [["check"]]}]}}))
    run.reply("a", "done")
    run.reply("a", content, failure=failure, stderr=stderr)

    check_same(tmp_path / "run")


def test_an_entry_whose_time_differs_from_its_event_is_a_divergence(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}, "b": {}}, max_parallel=1))
    run.reply("a", "done")
    run.close()
    assert kinds(tmp_path / "run")[2:] == ["task.finished", "task.ended", "task.started"]

    def start_later(entries: list[dict[str, Any]]) -> None:
        entries[4]["at"] = entries[4]["at"].replace(".000000Z", ".000001Z")

    rewrite(tmp_path / "run", start_later)

    divergence = replay_ledger(tmp_path / "run").divergence
    assert divergence is not None
    assert (divergence.seq, divergence.replayed) == (4, None)


def test_entries_after_a_process_was_killed_before_its_seal_are_compared(tmp_path: Path) -> None:
    document = small_plan({"a": {}})
    start_process(tmp_path / "whole", document).reply("a", "done")
    entries = list(entries_of(tmp_path / "whole"))
    copy_truncated(tmp_path / "whole", tmp_path / "run", entries, 3, is_torn=False)
    start_process(tmp_path / "run", document)
    assert kinds(tmp_path / "run")[2:] == ["task.finished", "run.resumed", "task.ended", "run.sealed"]
    check_same(tmp_path / "run")

    def change_the_end_state(entries: list[dict[str, Any]]) -> None:
        entries[4]["data"] = {"task": "a", "state": "tolerated", "reason": "error"}

    rewrite(tmp_path / "run", change_the_end_state)

    divergence = replay_ledger(tmp_path / "run").divergence
    assert divergence is not None
    assert divergence.seq == 4


def test_an_entry_after_a_pause_is_a_divergence(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan({"a": {}}))
    run.handle(Interrupted())
    run.reply("a", failure=CANCELLED)
    run.close()

    def pause_twice(entries: list[dict[str, Any]]) -> None:
        entries.append({**entries[-1], "seq": len(entries)})

    rewrite(tmp_path / "run", pause_twice)

    divergence = replay_ledger(tmp_path / "run").divergence
    assert divergence is not None
    assert (divergence.seq, divergence.replayed) == (4, None)
