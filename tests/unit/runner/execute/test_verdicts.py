"""How results are checked."""

import json
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine import Reusable
from forum_runner.ledger.body import TEXT, Body
from unit.runner.execute.small_runs import WORK, ByHand, Entry, outputs, run

EXIT = Failure(ErrorKind.EXIT_STATUS, "'check' ended with status 1")


def checked(check: dict[str, Any], content: str | bytes, **reply: Any) -> Entry:
    hand = ByHand({"a": {**WORK, "accept": [check]}})
    hand.reply("a", "x")
    hand.reply("a", content, **reply)
    return hand.story.one("verdict.given")


def by_command(content: str | bytes = "", **reply: Any) -> Entry:
    return checked({"command": ["check"]}, content, **reply)


def by_judge(content: str | bytes = "", **reply: Any) -> Entry:
    return checked({"agent": "critic"}, content, **reply)


@pytest.mark.requirement("RUN-VERDICT-001")
def test_checks_are_made_in_order_until_one_fails() -> None:
    accept = [{"schema": {"minLength": 1}}, {"schema": {"maxLength": 2}}, {"agent": "critic"}]

    story = run({"a": {**WORK, "accept": accept}}, outputs(a="long"))

    verdicts = [(entry.data["check"], entry.data["by"], entry.data["verdict"]) for entry in story.of("verdict.given")]
    assert verdicts == [(0, "schema", "pass"), (1, "schema", "fail")]
    assert story.of("verdict.asked") == []
    assert story.ends == {"a": "failed/verdict"}


@pytest.mark.requirement("RUN-VERDICT-001")
def test_a_reused_result_is_not_checked() -> None:
    found = Reusable("cache", "0" * 36, 3, Body(b"x", TEXT))

    story = run({"a": {**WORK, "accept": [{"schema": {"minLength": 9}}]}}, reusable={"a": found})

    assert story.kinds == ["task.reused", "task.ended", "run.sealed"]
    assert story.ends == {"a": "passed"}


@pytest.mark.requirement("RUN-VERDICT-002")
@pytest.mark.parametrize(
    ("reply", "verdict", "reason"),
    [
        ({"content": ""}, "pass", None),
        ({"content": "fine\n"}, "pass", b"fine"),
        ({"content": "out", "stderr": b"err"}, "pass", b"out\nerr"),
        ({"content": "", "stderr": b"bad\xff", "failure": EXIT}, "fail", b"bad\xef\xbf\xbd"),
        ({"content": "", "failure": EXIT}, "fail", b"'check' ended with status 1"),
    ],
)
def test_a_command_says_by_its_status_what_it_found(reply: dict[str, Any], verdict: str, reason: bytes | None) -> None:
    entry = by_command(**reply)

    assert entry.data["verdict"] == verdict
    assert entry.bodies.get("reason") == reason


@pytest.mark.requirement("RUN-VERDICT-002")
def test_a_command_that_did_not_end_by_itself_gave_no_verdict() -> None:
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
def test_another_answer_is_no_verdict(answer: Any) -> None:
    entry = by_judge(json.dumps(answer))

    assert (entry.data["verdict"], entry.data["error"]) == ("none", "schema_mismatch")
    assert entry.bodies["reason"] == b"the answer must have `verdict` (`pass` or `fail`) and `reason` (a string)"
    assert entry.bodies["detail"] == b'{"code":"no_verdict"}'


@pytest.mark.requirement("RUN-VERDICT-003")
def test_words_are_no_verdict() -> None:
    assert by_judge("It passes.").data["error"] == "malformed"


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_check_without_a_verdict_is_asked_again_as_often_as_an_attempt() -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}})
    hand.reply("a", "x")
    hand.reply("a", "Hm.")
    hand.reply("a", "Hm.")

    assert hand.story.kinds == [
        "task.started",
        "task.finished",
        "verdict.asked",
        "verdict.given",
        "verdict.asked",
        "verdict.given",
        "task.ended",
        "run.sealed",
    ]
    assert hand.story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_check_waits_as_an_attempt_would() -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2, "backoff": "0s"}}})
    hand.reply("a", "x")
    hand.reply("a", "", failure=Failure(ErrorKind.RATE_LIMITED, "", 7_000))

    assert hand.machine.next_wake_us() == hand.now_us + 7_000_000


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_check_that_cannot_be_made_is_not_asked_again() -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}})
    hand.reply("a", "x")
    hand.reply("a", "", failure=Failure(ErrorKind.AUTH))

    assert hand.story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-VERDICT-004")
def test_a_lost_check_is_asked_again() -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"agent": "critic"}]}})
    hand.reply("a", "x")
    hand.lose("a")

    assert hand.story.kinds[2:] == ["verdict.asked", "verdict.lost", "verdict.asked"]
