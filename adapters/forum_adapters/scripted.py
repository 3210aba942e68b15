"""The adapter that answers from a script. It makes no calls and costs nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_adapters.known_replies import KnownReplies
from forum_adapters.memo import Memo
from forum_adapters.script import AnswerRule, Script, is_command_check, stands_in

__all__ = ["Script", "ScriptedAdapter"]

_MAX_SHOWN = 200
_MAX_NEAR = 3


class ScriptedAdapter(KnownReplies):
    """`settings["answers"]` is the script, unless the settings of an attempt contain other answers."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._answers = settings.get("answers", ())
        self._scripts = Memo(Script)

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        script = self._scripts.of(attempt.settings.get("answers", self._answers))
        answer = script.first(attempt)
        if answer is None:
            return Reply(failure=Failure(ErrorKind.INVALID_REQUEST, _miss(script, attempt))), 0
        reply = answer.reply_to(attempt.prompt)
        limits = attempt.limits
        if answer.latency_ms > limits.timeout_ms:
            message = f"answer {answer.number} takes {answer.latency_ms} ms, but the timeout is {limits.timeout_ms} ms"
            return Reply(failure=Failure(ErrorKind.TIMEOUT, message)), limits.timeout_ms
        if len(reply.content) > limits.max_output_bytes:
            return _cut(reply, limits.max_output_bytes), answer.latency_ms
        return reply, answer.latency_ms


def _cut(reply: Reply, max_bytes: int) -> Reply:
    message = f"the output has {len(reply.content)} bytes, but the limit is {max_bytes}"
    return Reply(reply.content[:max_bytes], Failure(ErrorKind.OUTPUT_LIMIT, message), reply.usage)


def _miss(script: Script, attempt: Attempt) -> str:
    if not script.answers:
        hint = "name a script in the workflow, or give one with --scripted FILE"
        return f"there is no answer for {_seen(attempt)}: the script has none at all; {hint}"
    near = script.near(attempt.task)
    lines = [f"no answer of the script is for {_seen(attempt)}"]
    lines += [f"answer {answer.number} is for {', '.join(_unmet(answer, attempt))}" for answer in near[:_MAX_NEAR]]
    if not near:
        lines.append(f"none of the script's {len(script.answers)} answers is for this task")
    return "\n".join(lines)


def _seen(attempt: Attempt) -> str:
    """The properties of the call that an answer can match."""
    prompt = attempt.prompt
    if is_command_check(attempt):
        who = "a check by a command"
    else:
        who = f"agent '{attempt.agent}'" if attempt.agent is not None else "no agent"
    given = f"argv {_shown(shlex.join(prompt.argv))}" if prompt.argv else f"text {_shown(prompt.text)}"
    return f"task '{attempt.task}', attempt {attempt.number}, {who}, {given}"


def _unmet(answer: AnswerRule, attempt: Attempt) -> Iterator[str]:
    """The conditions of the answer that do not hold."""
    if answer.is_for_command_checks and not is_command_check(attempt):
        yield "a check by a command"
    if not answer.is_for_command_checks and is_command_check(attempt):
        yield "calls that are no check by a command (it has no `check: command`)"
    if answer.agent is not None and answer.agent != attempt.agent:
        yield f"agent '{answer.agent}'"
    if answer.attempt is not None and answer.attempt != attempt.number:
        yield f"attempt {answer.attempt}"
    if answer.contains is not None and not stands_in(answer.contains, attempt.prompt):
        yield f"what contains {_shown(answer.contains)}"


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]!r}..."
