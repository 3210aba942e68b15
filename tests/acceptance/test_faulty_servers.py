"""Retries, charges and ledger entries of complete runs against faulty servers, in both formats."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from acceptance.faulty_runs import ANSWER_USAGE, formats, truncated_stream
from acceptance.model_workflows import (
    HELLO,
    KEY,
    MAX_TOKENS,
    NO_TOKENS,
    calls,
    check_not_leaked,
    check_valid_by_command,
    model,
    retry_policy,
    run_hello,
    totals,
    write_workflow,
)
from acceptance.workflow_folder import Folder, ask
from servers.faulty import Act, Cut, FaultyServer, Pause, Step, does, refuses, says
from servers.formats import Format
from servers.http_bytes import END_OF_CHUNKS, chunk, chunked, json_response, response

modes = pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "complete"])


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", {"KEY": KEY})


@formats
@modes
def test_retry_after_is_respected(folder: Folder, server: FaultyServer, format_: Format, is_stream: bool) -> None:
    server.will(refuses(429, "slow down", {"retry-after": "1"}))

    result = run_hello(folder, server.base_url, format_, stream=is_stream)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.outcome, first.detail["retry_after_ms"], second.outcome) == ("rate_limited", 1_000, "ok")
    assert second.began_at - first.ended_at >= timedelta(seconds=1)
    assert (first.tokens, second.tokens) == (NO_TOKENS, ANSWER_USAGE)
    assert totals(folder)["calls"] == len(server.requests) == 2


@formats
@modes
@pytest.mark.parametrize("status", [500, 529])
def test_a_server_error_is_retried(
    folder: Folder, server: FaultyServer, format_: Format, is_stream: bool, status: int
) -> None:
    server.will(refuses(status, "oh no"))

    result = run_hello(folder, server.base_url, format_, stream=is_stream)

    assert result.code == 0, result
    assert [call.outcome for call in calls(folder)] == ["model_unavailable", "ok"]
    assert str(status) in calls(folder)[0].detail["message"]
    assert {name: totals(folder)[name] for name in ANSWER_USAGE} == ANSWER_USAGE
    assert folder.read("run/outputs/said.txt") == "Hello, world."


@formats
def test_a_server_that_keeps_failing_is_retried_as_often_as_the_policy_allows(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    server.default_step = refuses(503)

    result = run_hello(folder, server.base_url, format_, attempts=3)

    assert (result.code, folder.task_states()) == (1, {"hello": "failed: error"}), result
    assert [call.outcome for call in calls(folder)] == ["model_unavailable"] * 3
    assert len(server.requests) == 3


@formats
@pytest.mark.parametrize("status", [400, 402, 403, 404])
def test_a_permanent_error_is_not_retried(folder: Folder, server: FaultyServer, format_: Format, status: int) -> None:
    server.default_step = refuses(status)

    result = run_hello(folder, server.base_url, format_, attempts=3)

    assert (result.code, folder.task_states()) == (1, {"hello": "failed: error"}), result
    assert len(server.requests) == 1
    assert (calls(folder)[0].tokens, totals(folder)["calls"]) == (NO_TOKENS, 1)


UNREADABLE: dict[str, Step] = {
    "not JSON": does(response(200, b'{"choices": [')),
    "not an object": does(json_response(200, [1, 2])),
    "no content": does(json_response(200, {"choices": [], "content": None})),
    "not JSON in a stream": does(*chunked([b"data: {not json}\n\n"])),
    "an empty body": does(response(200)),
}


@formats
@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_answer_is_charged_and_retried_with_the_same_prompt(
    folder: Folder, server: FaultyServer, format_: Format, name: str
) -> None:
    """The fault is the server's, so the prompt does not mention it."""
    server.will(UNREADABLE[name])

    result = run_hello(folder, server.base_url, format_)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.outcome, second.outcome) == ("network", "ok")
    assert second.prompt == first.prompt
    assert (first.tokens, first.is_measured) == (first.reserved_tokens, False)
    assert second.tokens == ANSWER_USAGE


def _broken_stream(data: bytes) -> Step:
    """A stream with some text, followed by invalid data."""
    return lambda request: [*truncated_stream(Format.of_path(request.path)), chunk(data), END_OF_CHUNKS]


BROKEN_TEXT: dict[str, Step] = {
    "an unexpected finish reason": says("so far", finish="tool_use"),
    "an unknown finish reason": says("so far", finish="tired"),
    "half a character": says("so far \ud83d"),
    "not JSON": _broken_stream(b"data: {not json}\n\n"),
    "not an object": _broken_stream(b"data: [1]\n\n"),
}
SERVER_FAULTS = ("not JSON", "not an object")


@formats
@pytest.mark.parametrize("name", BROKEN_TEXT)
def test_text_that_is_not_an_answer_is_recorded_and_can_be_replayed(
    folder: Folder, server: FaultyServer, format_: Format, name: str
) -> None:
    """The text alone looks like an answer. Replay knows from the ledger that the adapter rejected it."""
    server.default_step = BROKEN_TEXT[name]

    result = run_hello(folder, server.base_url, format_, attempts=1)
    (call,) = calls(folder)

    assert (result.code, call.outcome) == (1, "network" if name in SERVER_FAULTS else "malformed"), result
    assert call.reply


@formats
@modes
def test_an_answer_of_the_wrong_type_is_retried_with_the_reason(
    folder: Folder, server: FaultyServer, format_: Format, is_stream: bool
) -> None:
    tasks = {"count": ask("How many?", output={"type": "integer", "minimum": 1})}
    write_workflow(
        folder,
        tasks,
        {"model": model(format_, server.base_url, stream=is_stream)},
        policy=retry_policy(3),
        outputs={"n": "count"},
    )
    server.will(says("about seven"), says("0"), says("```json\n7\n```"))

    result = folder.run()
    first, second, third = calls(folder)

    assert result.code == 0, result
    assert [call.outcome for call in (first, second, third)] == ["malformed", "schema_mismatch", "ok"]
    assert [call.tokens for call in (first, second, third)] == [ANSWER_USAGE] * 3
    assert (first.reply, second.reply) == (b"about seven", b"0")
    assert "not accepted" not in first.prompt
    assert "the answer is not a single JSON value" in second.prompt
    assert "about seven" in second.prompt
    assert "does not satisfy 'minimum'" in third.prompt
    assert [request.document["messages"][-1]["content"] for request in server.requests] == [
        call.prompt for call in (first, second, third)
    ]
    assert folder.read("run/outputs/n.json") == "7"
    check_valid_by_command(folder)


@formats
@modes
@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
def test_a_connection_lost_before_the_answer_is_charged_with_its_reservation(
    folder: Folder, server: FaultyServer, format_: Format, is_stream: bool, is_reset: bool
) -> None:
    server.will(does(Cut(is_reset)))

    result = run_hello(folder, server.base_url, format_, stream=is_stream)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.outcome, first.reply, second.outcome) == ("network", None, "ok")
    assert (first.tokens, first.is_measured) == (first.reserved_tokens, False)


@formats
@modes
def test_an_answer_without_usage_is_charged_with_its_reservation(
    folder: Folder, server: FaultyServer, format_: Format, is_stream: bool
) -> None:
    server.default_step = says(tokens=None)

    result = run_hello(folder, server.base_url, format_, stream=is_stream, prices={"input": "1", "output": "2"})
    (call,) = calls(folder)

    assert (result.code, call.outcome, call.is_measured) == (0, "ok", False), result
    assert call.tokens == call.reserved_tokens
    assert call.reserved_tokens["output_tokens"] == MAX_TOKENS
    assert totals(folder)["micro_usd"] == call.tokens["input_tokens"] + 2 * MAX_TOKENS


@formats
@modes
def test_cached_tokens_are_counted_and_priced_the_same_in_both_formats(
    folder: Folder, server: FaultyServer, format_: Format, is_stream: bool
) -> None:
    server.default_step = says(tokens=(100, 60, 7))
    prices = {"input": "10", "cached_input": "1", "output": "100"}

    result = run_hello(folder, server.base_url, format_, stream=is_stream, prices=prices)
    (call,) = calls(folder)

    assert (result.code, call.is_measured) == (0, True), result
    assert call.tokens == {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7}
    assert call.end_entry["data"]["usage"]["micro_usd"] == 40 * 10 + 60 * 1 + 7 * 100
    assert totals(folder)["micro_usd"] == call.end_entry["data"]["usage"]["micro_usd"]


@formats
def test_usage_above_the_reservation_is_charged_and_recorded(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    server.default_step = says(tokens=(50_000, 0, 9_000))

    result = run_hello(folder, server.base_url, format_)
    exceeded = {entry["data"]["amount"]: entry["data"]["used"] for entry in folder.entries("run", "budget.exceeded")}

    assert result.code == 0, result
    assert exceeded == {"input_tokens": 50_000, "output_tokens": 9_000}
    assert (totals(folder)["input_tokens"], totals(folder)["output_tokens"]) == (50_000, 9_000)


def drip(format_: Format) -> Iterator[Act]:
    """An endless stream without long pauses."""
    *events, _ = truncated_stream(format_)
    yield from events
    while True:
        yield chunk(b": still here\n\n")
        yield Pause(0.02)


@formats
def test_a_slow_answer_is_aborted_at_its_timeout(folder: Folder, server: FaultyServer, format_: Format) -> None:
    server.default_step = lambda _: drip(format_)

    result = run_hello(folder, server.base_url, format_, attempts=1, timeout="2s")
    (call,) = calls(folder)

    assert (result.code, call.outcome, call.reply) == (1, "timeout", b"Hello, "), result
    assert call.detail["message"] == "the answer was incomplete after 2000 ms"
    assert (call.tokens, call.is_measured) == (call.reserved_tokens, False)
    assert server.wait_until_idle(60)


@formats
def test_max_tokens_is_the_limit_of_the_adapter_or_the_rest_of_the_budget(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    """The first call uses 400 of 700 tokens. The prompt of the second reserves 262 of the remaining 300."""
    tasks = {"first": ask("Say hello."), "second": ask("Again.", needs=[_order_edge("first")])}
    policy = {"budget": {"tokens": 700}}
    write_workflow(folder, tasks, {"model": model(format_, server.base_url)}, policy=policy)
    server.default_step = says(tokens=(370, 0, 30))

    result = folder.run()
    first, second = calls(folder)

    sent_limits = [request.document["max_tokens"] for request in server.requests]
    assert sent_limits == [call.reserved_tokens["output_tokens"] for call in (first, second)]
    assert sent_limits[0] == MAX_TOKENS
    assert sent_limits[1] == 700 - 400 - second.reserved_tokens["input_tokens"] == 38
    assert result.code == 0, result
    check_valid_by_command(folder)


@formats
def test_an_answer_truncated_by_a_budget_stops_its_task(folder: Folder, server: FaultyServer, format_: Format) -> None:
    write_workflow(folder, HELLO, {"model": model(format_, server.base_url)}, policy={"budget": {"tokens": 300}})
    server.default_step = says("Hello, I am", finish=format_.truncated_reason, tokens=(30, 0, 34))

    result = folder.run()
    (call,) = calls(folder)

    assert (result.code, folder.task_states()) == (4, {"hello": "stopped: budget"}), result
    assert (call.outcome, call.reply) == ("output_limit", b"Hello, I am")
    assert server.requests[0].document["max_tokens"] == 300 - call.reserved_tokens["input_tokens"]
    check_valid_by_command(folder)


def _order_edge(task: str) -> dict[str, str]:
    return {"task": task, "edge": "order"}


@formats
@modes
def test_an_unreachable_server_costs_nothing(
    folder: Folder, server: FaultyServer, format_: Format, is_stream: bool
) -> None:
    """The budget allows one call: if a failed attempt were charged, the second task could not run."""
    with FaultyServer() as stopped_server:
        pass
    policy = {**retry_policy(3), "budget": {"tokens": 330, "usd": "0.01"}, "on_failure": "continue"}
    tasks = {"first": ask("Say hello.", agent="lost"), "second": ask("Say hello.", needs=[_order_edge("first")])}
    adapters = {
        "here": model(format_, server.base_url, prices={"input": "1", "output": "1"}),
        "gone": model(format_, stopped_server.base_url, stream=is_stream, prices={"input": "9", "output": "9"}),
    }
    agents = {"writer": {"adapter": "here"}, "lost": {"adapter": "gone"}}
    write_workflow(folder, tasks, adapters, agents=agents, policy=policy, outputs={"said": "second"})

    result = folder.run()
    failed_calls = calls(folder, task="first")

    assert (result.code, folder.task_states()) == (1, {"first": "failed: error", "second": "passed"}), result
    assert [call.outcome for call in failed_calls] == ["network"] * 3
    assert [(call.tokens, call.end_entry["data"]["usage"]["micro_usd"]) for call in failed_calls] == [
        (NO_TOKENS, 0)
    ] * 3
    assert {name: totals(folder)[name] for name in ANSWER_USAGE} == ANSWER_USAGE
    check_valid_by_command(folder)
    check_not_leaked(KEY, folder.path / "run", result)
