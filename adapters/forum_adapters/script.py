"""The answers of a script. A call gets the first answer whose conditions all hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Prompt, Reply, Usage

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_INSTANCE = re.compile(r"\[[^\]]*\]")
_NUMBER = re.compile(r"\[0*([0-9]+)\]$")


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRule:
    """One answer: its conditions (None matches any call), and its reply. `number` counts from 1."""

    number: int
    task: str | None
    agent: str | None
    attempt: int | None
    contains: str | None
    is_for_command_checks: bool
    latency_ms: int
    written: Mapping[str, Any]
    _replies: dict[tuple[bool, bool], Reply] = field(default_factory=dict)

    def suits(self, attempt: Attempt) -> bool:
        """Whether the conditions hold that the script's index does not check."""
        return (
            (self.attempt is None or self.attempt == attempt.number)
            and (self.agent is None or self.agent == attempt.agent)
            and (self.contains is None or stands_in(self.contains, attempt.prompt))
        )

    def reply_to(self, prompt: Prompt) -> Reply:
        form = (prompt.output_schema is not None, bool(prompt.argv))
        reply = self._replies.get(form)
        if reply is None:
            reply = self._replies[form] = _reply(self.written, *form)
        return reply


class Script:
    """The `answers` of a valid Script manifest. A call considers only answers for its task."""

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self.answers = tuple(_answer(number, written) for number, written in enumerate(answers, 1))
        self._of_calls = _Index(answer for answer in self.answers if not answer.is_for_command_checks)
        self._of_command_checks = _Index(answer for answer in self.answers if answer.is_for_command_checks)

    def first(self, attempt: Attempt) -> AnswerRule | None:
        index = self._of_command_checks if is_command_check(attempt) else self._of_calls
        found: AnswerRule | None = None
        for answers in index.lists(attempt.task):
            for answer in answers:
                if found is not None and answer.number > found.number:
                    break
                if answer.suits(attempt):
                    found = answer
                    break
        return found

    def near(self, task: str) -> list[AnswerRule]:
        """The answers that name the task, then the answers that name no task."""
        indexes = (self._of_calls, self._of_command_checks)
        answers = [answer for index in indexes for answers in index.lists(task) for answer in answers]
        return sorted(answers, key=lambda answer: (answer.task is None, answer.number))


class _Index:
    """Answers by the task that they name, in the script's order."""

    __slots__ = ("_by_task", "_of_any_task")

    def __init__(self, answers: Iterator[AnswerRule]) -> None:
        self._by_task: dict[str, list[AnswerRule]] = {}
        self._of_any_task: list[AnswerRule] = []
        for answer in answers:
            if answer.task is None:
                self._of_any_task.append(answer)
            else:
                self._by_task.setdefault(answer.task, []).append(answer)

    def lists(self, task: str) -> list[list[AnswerRule]]:
        by_task = self._by_task
        if not by_task:
            return [self._of_any_task]
        return [*(by_task[name] for name in names_of(task) if name in by_task), self._of_any_task]


def names_of(task: str) -> tuple[str, ...]:
    """The names that an answer may use for a task (MANIFEST-SCRIPT-001): `a[x=1]/b[2]` is also `a[x=1]/b`, `a/b[2]`,
    `a/b`, `b[2]` and `b`."""
    if "[" not in task:
        last = task.rpartition("/")[2]
        return (task,) if last == task else (task, last)
    names = {task, bare := _INSTANCE.sub("", task)}
    if number := _NUMBER.search(task):
        names |= {task[: number.start()], bare + number[0]}
    return tuple(names | {name.rpartition("/")[2] for name in names})


def is_command_check(attempt: Attempt) -> bool:
    return attempt.agent is None and attempt.check is not None


def stands_in(text: str, prompt: Prompt) -> bool:
    return (
        text in prompt.text
        or text in prompt.system
        or any(text in argument for argument in prompt.argv)
        or text in prompt.stdin.decode(errors="replace")
    )


def _answer(number: int, written: Mapping[str, Any]) -> AnswerRule:
    task = written.get("task")
    if task is not None and task.endswith("]"):
        # The compiler accepts `each[01]` for `each[1]`.
        task = _NUMBER.sub(r"[\1]", task)
    return AnswerRule(
        number=number,
        task=task,
        agent=written.get("agent"),
        attempt=written.get("attempt"),
        contains=written.get("contains"),
        is_for_command_checks="check" in written,
        latency_ms=_milliseconds(written["latency"]) if "latency" in written else 0,
        written=written,
    )


def _reply(written: Mapping[str, Any], is_structured: bool, is_program: bool) -> Reply:
    usage = Usage(**_known(written["usage"])) if "usage" in written else None
    if "error" in written:
        error = written["error"]
        kind = ErrorKind(error["kind"])
        retry_after_ms = _milliseconds(error["retry_after"]) if "retry_after" in error else None
        failure = Failure(kind, error.get("message", ""), retry_after_ms)
        exit_status = error.get("exit_status", 1 if kind is ErrorKind.EXIT_STATUS else None)
        return Reply(failure=failure, usage=usage, exit_status=exit_status)
    content = written["reply"].encode() if "reply" in written else _content(written["output"], is_structured)
    return Reply(content=content, usage=usage, exit_status=0 if is_program else None)


def _content(output: Any, is_structured: bool) -> bytes:
    return output.encode() if isinstance(output, str) and not is_structured else _canonical(output)


def _canonical(value: Any) -> bytes:
    """RFC 8785, so that a script gives the same bytes in every implementation."""
    import rfc8785

    return rfc8785.dumps(value)


def _known(usage: Mapping[str, Any]) -> dict[str, int]:
    return {name: tokens for name, tokens in usage.items() if not name.startswith("x-")}


def _milliseconds(span: str) -> int:
    """MANIFEST-UNIT-001."""
    unit = span.lstrip("0123456789")
    return int(span[: -len(unit)]) * _MILLISECONDS[unit]
