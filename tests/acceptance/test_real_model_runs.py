"""Complete runs with a real model. The tests check outcomes, costs and ledgers, never the text of an answer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from acceptance.model_workflows import (
    NO_TOKENS,
    Call,
    calls,
    check_not_leaked,
    check_valid_by_command,
    model,
    retry_policy,
    totals,
    write_workflow,
)
from acceptance.workflow_folder import PATIENCE_S, Folder, Result, ask
from servers import small_model
from servers.formats import Format
from servers.small_model import Setting, SmallModel, require_python

COLOR_SCHEMA = {
    "type": "object",
    "properties": {"color": {"enum": ["red", "green", "blue"]}, "count": {"type": "integer", "maximum": 99}},
    "required": ["color", "count"],
    "additionalProperties": False,
}
# Outcomes of an answer that does not match its type.
TYPE_ERRORS = ("malformed", "schema_mismatch")
LONG_ANSWERS = {"temperature": 0, "max_tokens": 300}
SHORT_ANSWERS = {"temperature": 0, "max_tokens": 20}
# The server normally gets its port from the system. This replacement program uses a fixed port.
FIXED_PORT_PROGRAM = """
import runpy
import xllamacpp

class Params(xllamacpp.CommonParams):
    def __setattr__(self, name, value):
        super().__setattr__(name, {port} if name == "port" else value)

xllamacpp.CommonParams = Params
runpy.run_path({program!r}, run_name="__main__")
"""
formats = pytest.mark.parametrize("format_", Format)
modes = pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "complete"])


@pytest.fixture(scope="module")
def server() -> Iterator[SmallModel]:
    with SmallModel(require_python(), Setting(n_ctx=1_024)) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", {"KEY": Setting().api_key})


def check_run(folder: Folder, *results: Result, out: str = "run") -> None:
    """Assert that all verifiers accept the run and that it does not leak the key."""
    check_valid_by_command(folder, out)
    judge = [sys.executable, "-m", "forum_conformance", "judge", str(folder.path / out)]
    judged = subprocess.run(judge, capture_output=True, check=False)
    assert judged.returncode == 0, judged
    check_not_leaked(folder.env["KEY"], folder.path / out, *results)


def check_answered(call: Call, format_: Format, max_tokens: int) -> None:
    assert (call.detail["model"], call.detail["finish"]) == ("small", format_.complete_reason)
    assert call.is_measured
    assert 0 < call.tokens["input_tokens"] <= call.reserved_tokens["input_tokens"]
    assert 0 < call.tokens["output_tokens"] <= max_tokens


@formats
@modes
def test_a_plan_with_data_edges_passes(folder: Folder, server: SmallModel, format_: Format, is_stream: bool) -> None:
    tasks = {
        "name": ask("Name one color."),
        "repeat": ask("Which word is this?", needs=["name"]),
        "other": ask("Name one color.", needs=[{"task": "repeat", "edge": "order"}]),
    }
    outputs = {"name": "name", "repeat": "repeat", "other": "other"}
    write_workflow(
        folder, tasks, {"model": model(format_, server.base_url, stream=is_stream, **LONG_ANSWERS)}, outputs=outputs
    )

    result = folder.run()
    all_calls = calls(folder)

    assert (result.code, folder.task_states()) == (0, dict.fromkeys(tasks, "passed")), result
    assert folder.attempt_counts() == dict.fromkeys(tasks, 1)
    for call in all_calls:
        check_answered(call, format_, LONG_ANSWERS["max_tokens"])
    (delivered,) = folder.entries("run", "edge.delivered")
    assert folder.body("run", delivered, "value").decode() == folder.read("run/outputs/name.txt")
    assert folder.read("run/outputs/name.txt") in all_calls[1].prompt
    assert {name: totals(folder)[name] for name in NO_TOKENS} == {
        name: sum(call.tokens[name] for call in all_calls) for name in NO_TOKENS
    }
    check_run(folder, result)


@modes
def test_an_answer_matches_the_type_sent_to_the_server(folder: Folder, server: SmallModel, is_stream: bool) -> None:
    tasks = {
        "choose": ask("Which color, and how many?", output=COLOR_SCHEMA),
        "judge": ask("Is it a color?", output={"type": "boolean"}, needs=[{"task": "choose", "select": "/color"}]),
    }
    outputs = {"chosen": "choose", "color": {"task": "choose", "select": "/color"}, "is_so": "judge"}
    adapters = {"model": model(Format.OPENAI, server.base_url, stream=is_stream, **LONG_ANSWERS)}
    write_workflow(folder, tasks, adapters, outputs=outputs)

    result = folder.run()
    first, second = calls(folder)

    assert result.code == 0, result
    chosen = json.loads(folder.read("run/outputs/chosen.json"))
    jsonschema.validate(chosen, COLOR_SCHEMA)
    assert json.loads(folder.read("run/outputs/color.json")) == chosen["color"]
    assert isinstance(json.loads(folder.read("run/outputs/is_so.json")), bool)
    (delivered,) = folder.entries("run", "edge.delivered")
    assert json.loads(folder.body("run", delivered, "value")) == chosen["color"]
    assert chosen["color"] in second.prompt
    for call in (first, second):
        check_answered(call, Format.OPENAI, LONG_ANSWERS["max_tokens"])
    check_run(folder, result)


@modes
def test_an_answer_that_does_not_match_its_type_is_retried_only_as_often_as_allowed(
    folder: Folder, server: SmallModel, is_stream: bool
) -> None:
    """No value matches the type, so every answer is a mismatch or too long."""
    no_value = {"type": "integer", "minimum": 2, "maximum": 1}
    tasks = {"typed": ask("What is 2 + 2?", output=no_value, allow_failure=True)}
    write_workflow(
        folder, tasks, {"model": model(Format.ANTHROPIC, server.base_url, stream=is_stream)}, policy=retry_policy(2)
    )

    result = folder.run()
    typed = calls(folder, task="typed")

    assert (result.code, folder.task_states()) == (0, {"typed": "tolerated: error"}), result
    assert all(call.outcome in (*TYPE_ERRORS, "output_limit") and call.reply and call.is_measured for call in typed)
    assert len(typed) == (2 if typed[0].outcome in TYPE_ERRORS else 1)
    for earlier, later in pairwise(typed):
        assert earlier.detail["message"] in later.prompt
        assert earlier.reply is not None
        assert earlier.reply.decode() in later.prompt
    check_run(folder, result)


@formats
def test_a_budget_stops_the_run_and_keeps_finished_work(folder: Folder, server: SmallModel, format_: Format) -> None:
    """The first call fits. The rest of the budget is too small for the prompt of the second."""
    long_prompt = "Say hello. " * 40
    tasks = {"first": ask("Name one color."), "second": ask(long_prompt, needs=["first"]), "third": ask(long_prompt)}
    adapters = {"model": model(format_, server.base_url, **LONG_ANSWERS)}
    write_workflow(
        folder, tasks, adapters, policy={"budget": {"tokens": 600}}, outputs={"first": "first", "second": "second"}
    )

    result = folder.run()

    assert result.code == 4, result
    assert folder.task_states() == {"first": "passed", "second": "stopped: budget", "third": "stopped: budget"}
    (stopped,) = folder.entries("run", "budget.stopped")
    spent = totals(folder)["input_tokens"] + totals(folder)["output_tokens"]
    assert {name: stopped["data"][name] for name in ("scope", "amount", "limit", "used")} == {
        "scope": "run", "amount": "tokens", "limit": 600, "used": spent,
    }  # fmt: skip
    assert 0 < spent <= 600 < spent + stopped["data"]["needed"]
    assert totals(folder)["calls"] == 1
    assert folder.read("run/outputs/first.txt")
    assert not (folder.path / "run/outputs/second.txt").exists()
    check_run(folder, result)


@formats
@modes
def test_a_wrong_key_fails_immediately_and_is_not_leaked(
    folder: Folder, server: SmallModel, format_: Format, is_stream: bool
) -> None:
    folder = Folder(folder.path, {"KEY": "sk-wrong-73/Q+9=x&Zw"})
    write_workflow(folder, {"hello": ask("Say hello.")}, {"model": model(format_, server.base_url, stream=is_stream)})

    result = folder.run()
    as_json = folder.forum("run", "workflow.yaml", "--out", "second", "--progress", "json", "--json")

    assert (result.code, as_json.code, folder.task_states()) == (1, 1, {"hello": "failed: error"}), (result, as_json)
    assert [(call.outcome, call.tokens) for call in calls(folder)] == [("auth", NO_TOKENS)]
    for out in ("run", "second"):
        check_run(folder, result, as_json, out=out)


@formats
def test_a_prompt_that_is_too_long_escalates_to_a_larger_context(
    folder: Folder, server: SmallModel, format_: Format
) -> None:
    long_question = "Say hello. Do not mind the rest." + " word" * 300
    narrow = Setting(n_ctx=256)
    with SmallModel(require_python(), narrow) as small:
        tasks = {
            "not-escalated": ask(long_question, agent="narrow", allow_failure=True),
            "escalated": ask(long_question, escalate=["frontier"]),
        }
        adapters = {
            "narrow": model(format_, small.base_url, **SHORT_ANSWERS),
            "wide": model(format_, server.base_url, **SHORT_ANSWERS),
        }
        agents = {
            "narrow": {"adapter": "narrow"},
            "writer": {"tier": "cheap", "adapters": {"cheap": "narrow", "frontier": "wide"}},
        }
        write_workflow(folder, tasks, adapters, agents=agents, policy={"on_failure": "continue"})

        result = folder.run()
    refused, last = calls(folder, task="escalated")

    assert [(call.outcome, call.tokens) for call in calls(folder, task="not-escalated")] == [
        ("context_length", NO_TOKENS)
    ]
    assert (refused.outcome, refused.tokens) == ("context_length", NO_TOKENS)
    (raised,) = folder.entries("run", "escalation.raised")
    assert raised["data"] == {"task": "escalated", "from": "cheap", "to": "frontier"}
    # A model this small may give no usable answer.
    assert last.outcome in ("ok", "malformed", "output_limit")
    assert last.is_measured
    assert last.tokens["input_tokens"] > narrow.n_ctx
    assert result.code == (0 if last.outcome == "ok" else 1), result
    check_run(folder, result)


@contextmanager
def server_at(port: int, tmp_path: Path) -> Iterator[SmallModel]:
    """A server at the port of a server that was killed."""
    program = tmp_path / "at_a_port.py"
    program.write_text(FIXED_PORT_PROGRAM.format(port=port, program=str(small_model._PROGRAM)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_model, "_PROGRAM", program)
        restarted = SmallModel(require_python(), Setting(n_ctx=1_024))
        with restarted:
            assert restarted.address.endswith(f":{port}")
            yield restarted


def write_chain(folder: Folder, format_: Format, stable: SmallModel, fragile: SmallModel, **policy: Any) -> None:
    """Write three tasks. The second one uses a server that the test will kill."""
    tasks = {
        "first": ask("Name one color."),
        "second": ask("Name one color.", agent="fragile", needs=[{"task": "first", "edge": "order"}]),
        "third": ask("Which word is this?", needs=["second"]),
    }
    adapters = {
        "stable": model(format_, stable.base_url, **LONG_ANSWERS),
        "fragile": model(format_, fragile.base_url, temperature=0, max_tokens=900),
    }
    agents = {"writer": {"adapter": "stable"}, "fragile": {"adapter": "fragile"}}
    write_workflow(
        folder, tasks, adapters, agents=agents, policy=policy, outputs={"second": "second", "third": "third"}
    )


def wait_for_tokens(server: SmallModel, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server is generating an answer."""
    deadline_s = time.monotonic() + PATIENCE_S
    while min(server.decoded_tokens(), default=0) < 8:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


ENDLESS = Setting(n_ctx=1_024, is_endless=True)


@formats
def test_a_run_whose_server_was_killed_can_be_retried_when_it_is_back(
    folder: Folder, server: SmallModel, format_: Format, tmp_path: Path
) -> None:
    with SmallModel(require_python(), ENDLESS) as killed:
        write_chain(folder, format_, server, killed)
        process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
        wait_for_tokens(killed, process)
        killed.kill()
        printed = process.communicate(timeout=PATIENCE_S)
    first = Result(process.returncode, *(text.decode() for text in printed))
    with server_at(int(killed.address.rpartition(":")[2]), tmp_path):
        retried = folder.forum("resume", "run", "--failed", "--out", "second")
    (call,) = calls(folder, task="second")

    assert (first.code, folder.task_states()) == (
        1, {"first": "passed", "second": "failed: error", "third": "skipped: upstream"},
    ), first  # fmt: skip
    assert call.outcome == "network"
    assert call.detail["message"].endswith(" ended before the answer was complete")
    assert call.reply
    assert (call.tokens, call.is_measured) == (call.reserved_tokens, False)
    assert (retried.code, folder.task_states("second")) == (
        0,
        dict.fromkeys(("first", "second", "third"), "passed"),
    ), retried
    assert (folder.reused_tasks("second"), folder.attempt_counts("second")) == ({"first"}, {"second": 1, "third": 1})
    assert folder.read("second/outputs/third.txt")
    for out in ("run", "second"):
        check_run(folder, first, retried, out=out)


@formats
def test_a_run_that_was_killed_with_its_server_can_be_resumed(
    folder: Folder, server: SmallModel, format_: Format, tmp_path: Path
) -> None:
    with SmallModel(require_python(), ENDLESS) as killed:
        write_chain(folder, format_, server, killed, on_lost="retry")
        process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "none")
        wait_for_tokens(killed, process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
    with server_at(int(killed.address.rpartition(":")[2]), tmp_path):
        resumed = folder.forum("resume", "run")

    assert (resumed.code, folder.task_states()) == (0, dict.fromkeys(("first", "second", "third"), "passed")), resumed
    assert folder.attempt_counts() == {"first": 1, "second": 2, "third": 1}
    assert [entry["data"]["task"] for entry in folder.entries("run", "task.lost")] == ["second"]
    check_run(folder, resumed)
