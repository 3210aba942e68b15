"""The adapter that answers from a script. It makes no calls and costs nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_adapters.known_replies import KnownReplies
from forum_adapters.memo import Memo
from forum_adapters.script import AnswerRule, Script, is_command_check, occurs_in

__all__ = ["Script", "ScriptedAdapter"]

_MAX_QUOTED_CHARACTERS = 200
_MAX_CANDIDATES = 3


class ScriptedAdapter(KnownReplies):
    """Answers from the script in `settings["answers"]`; an attempt's own settings can override it."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._answers = settings.get("answers", ())
        self._scripts = Memo(Script)

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        script = self._scripts.get(attempt.settings.get("answers", self._answers))
        answer = script.first(attempt)
        if answer is None:
            return Reply(failure=Failure(ErrorKind.INVALID_REQUEST, _no_match_message(script, attempt))), 0
        reply = answer.reply_to(attempt.prompt)
        limits = attempt.limits
        if answer.latency_ms > limits.timeout_ms:
            message = f"answer {answer.number} takes {answer.latency_ms} ms, but the timeout is {limits.timeout_ms} ms"
            return Reply(failure=Failure(ErrorKind.TIMEOUT, message)), limits.timeout_ms
        if len(reply.content) > limits.max_output_bytes:
            return _truncated(reply, limits.max_output_bytes), answer.latency_ms
        return reply, answer.latency_ms


def _truncated(reply: Reply, max_bytes: int) -> Reply:
    message = f"the output has {len(reply.content)} bytes, but the limit is {max_bytes}"
    return Reply(reply.content[:max_bytes], Failure(ErrorKind.OUTPUT_LIMIT, message), reply.usage)


def _no_match_message(script: Script, attempt: Attempt) -> str:
    if not script.answers:
        hint = "add a script to the workflow or pass --scripted FILE"
        return f"no answer for {_describe_call(attempt)}: the script is empty; {hint}"
    candidates = script.candidates(attempt.task)
    lines = [f"no answer in the script matches {_describe_call(attempt)}"]
    lines += [
        f"answer {answer.number} {' and '.join(_unmet_conditions(answer, attempt))}"
        for answer in candidates[:_MAX_CANDIDATES]
    ]
    if not candidates:
        lines.append(f"none of the script's answers ({len(script.answers)}) names this task")
    return "\n".join(lines)


def _describe_call(attempt: Attempt) -> str:
    """The properties of the call that an answer can match."""
    prompt = attempt.prompt
    if is_command_check(attempt):
        caller = "a command check"
    else:
        caller = f"agent '{attempt.agent}'" if attempt.agent is not None else "no agent"
    content = f"argv {_quoted(shlex.join(prompt.argv))}" if prompt.argv else f"text {_quoted(prompt.text)}"
    return f"task '{attempt.task}', attempt {attempt.number}, {caller}, {content}"


def _unmet_conditions(answer: AnswerRule, attempt: Attempt) -> Iterator[str]:
    """The conditions of the answer that the call does not meet."""
    if answer.is_for_command_checks and not is_command_check(attempt):
        yield "applies only to command checks"
    if not answer.is_for_command_checks and is_command_check(attempt):
        yield "does not apply to command checks (add `check: command` to it)"
    if answer.agent is not None and answer.agent != attempt.agent:
        yield f"requires agent '{answer.agent}'"
    if answer.attempt is not None and answer.attempt != attempt.number:
        yield f"requires attempt {answer.attempt}"
    if answer.contains is not None and not occurs_in(answer.contains, attempt.prompt):
        yield f"requires a prompt that contains {_quoted(answer.contains)}"


def _quoted(text: str) -> str:
    return repr(text) if len(text) <= _MAX_QUOTED_CHARACTERS else f"{text[:_MAX_QUOTED_CHARACTERS]!r}..."
