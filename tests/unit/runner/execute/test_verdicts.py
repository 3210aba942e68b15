"""Checks of results and their verdicts."""

import json
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine import Reusable
from forum_runner.ledger.body import TEXT, Body
from unit.runner.execute.small_runs import WORK, Entry, ManualRun, outputs, run

EXIT = Failure(ErrorKind.EXIT_STATUS, "'check' exited with status 1")


def checked(check: dict[str, Any], content: str | bytes, **reply: Any) -> Entry:
    manual = ManualRun({"a": {**WORK, "accept": [check]}})
    manual.reply("a", "x")
    manual.reply("a", content, **reply)
    return manual.recorded.only("verdict.given")


def by_command(content: str | bytes = "", **reply: Any) -> Entry:
    return checked({"command": ["check"]}, content, **reply)


def by_judge(content: str | bytes = "", **reply: Any) -> Entry:
    return checked({"agent": "critic"}, content, **reply)


@pytest.mark.requirement("RUN-VERDICT-001")
def test_checks_run_in_order_until_one_fails() -> None:
    accept = [{"schema": {"minLength": 1}}, {"schema": {"maxLength": 2}}, {"agent": "critic"}]

    recorded = run({"a": {**WORK, "accept": accept}}, outputs(a="long"))

    verdicts = [
        (entry.data["check"], entry.data["by"], entry.data["verdict"]) for entry in recorded.of_kind("verdict.given")
    ]
    assert verdicts == [(0, "schema", "pass"), (1, "schema", "fail")]
    assert recorded.of_kind("verdict.asked") == []
    assert recorded.ends == {"a": "failed/verdict"}


@pytest.mark.requirement("RUN-VERDICT-001")
def test_a_reused_result_is_not_checked() -> None:
    found = Reusable("cache", "0" * 36, 3, Body(b"x", TEXT))

    recorded = run({"a": {**WORK, "accept": [{"schema": {"minLength": 9}}]}}, reusable={"a": found})

    assert recorded.kinds == ["task.reused", "task.ended", "run.sealed"]
    assert recorded.ends == {"a": "passed"}


@pytest.mark.requirement("RUN-VERDICT-002")
@pytest.mark.parametrize(
    ("reply", "verdict", "reason"),
    [
        ({"content": ""}, "pass", None),
        ({"content": "fine\n"}, "pass", b"fine"),
        ({"content": "out", "stderr": b"err"}, "pass", b"out\nerr"),
        ({"content": "", "stderr": b"bad\xff", "failure": EXIT}, "fail", b"bad\xef\xbf\xbd"),
        ({"content": "", "failure": EXIT}, "fail", b"'check' exited with status 1"),
    ],
)
def test_the_exit_status_of_a_command_is_its_verdict(reply: dict[str, Any], verdict: str, reason: bytes | None) -> None:
    entry = by_command(**reply)

    assert entry.data["verdict"] == verdict
    assert entry.bodies.get("reason") == reason


@pytest.mark.requirement("RUN-VERDICT-002")
def test_a_command_that_timed_out_gave_no_verdict() -> None:
    entry = by_command("half", failure=Failure(ErrorKind.TIMEOUT, "too slow"))

    assert (entry.data["verdict"], entry.data["error"]) == ("none", "timeout")
    assert entry.bodies == {"reply": b"half", "reason": b"too slow"}


@pytest.mark.requirement("RUN-VERDICT-003")
@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_a_judge_answers_with_a_verdict_and_its_reason(verdict: str) -> None:
    content = json.dumps({"verdict": verdict, "reason": "because", "more": 1})
    entry = by_judge(f"```json\n{content}\n```\n")

    assert entry.data["verdict"] == verdict
    assert entry.bodies == {"reason": b"because", "reply": f"```json\n{content}\n```".encode()}


@pytest.mark.requirement("RUN-VERDICT-003")
@pytest.mark.parametrize(
    "answer", [[], {}, {"verdict": "pass"}, {"verdict": "maybe", "reason": ""}, {"verdict": "pass", "reason": 1}]
)
def test_an_answer_of_another_shape_is_not_a_verdict(answer: Any) -> None:
    entry = by_judge(json.dumps(answer))

    assert (entry.data["verdict"], entry.data["error"]) == ("none", "schema_mismatch")
    assert entry.bodies["reason"] == b"the answer must have `verdict` (`pass` or `fail`) and `reason` (a string)"
    assert entry.bodies["detail"] == b'{"code":"no_verdict"}'


@pytest.mark.requirement("RUN-VERDICT-003")
def test_plain_text_is_not_a_verdict() -> None:
    assert by_judge("It passes.").data["error"] == "malformed"


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_check_without_a_verdict_is_retried_as_often_as_an_attempt() -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}})
    manual.reply("a", "x")
    manual.reply("a", "Hm.")
    manual.reply("a", "Hm.")

    assert manual.recorded.kinds == [
        "task.started",
        "task.finished",
        "verdict.asked",
        "verdict.given",
        "verdict.asked",
        "verdict.given",
        "task.ended",
        "run.sealed",
    ]
    assert manual.recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_check_waits_before_a_retry_like_an_attempt() -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2, "backoff": "0s"}}})
    manual.reply("a", "x")
    manual.reply("a", "", failure=Failure(ErrorKind.RATE_LIMITED, "", 7_000))

    assert manual.machine.next_wake_us() == manual.now_us + 7_000_000


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_check_with_a_permanent_error_is_not_retried() -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}})
    manual.reply("a", "x")
    manual.reply("a", "", failure=Failure(ErrorKind.AUTH))

    assert manual.recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_lost_check_is_retried() -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"agent": "critic"}]}})
    manual.reply("a", "x")
    manual.lose("a")

    assert manual.recorded.kinds[2:] == ["verdict.asked", "verdict.lost", "verdict.asked"]
