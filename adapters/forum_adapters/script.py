"""The answers of a script. A call gets the first answer whose conditions all hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Prompt, Reply, Usage

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# The parts in brackets: the combination of a matrix, such as `[x=1]`, or the number of an instance, such as `[2]`.
_BRACKETS = re.compile(r"\[[^\]]*\]")
_INSTANCE_NUMBER = re.compile(r"\[0*([0-9]+)\]$")


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRule:
    """One answer of a script: its conditions (None matches any call) and its reply. `number` counts from 1."""

    number: int
    task: str | None
    agent: str | None
    attempt: int | None
    contains: str | None
    is_for_command_checks: bool
    latency_ms: int
    declaration: Mapping[str, Any]
    _replies: dict[tuple[bool, bool], Reply] = field(default_factory=dict)

    def matches(self, attempt: Attempt) -> bool:
        """Whether the call meets the conditions that the script's index does not check."""
        return (
            (self.attempt is None or self.attempt == attempt.number)
            and (self.agent is None or self.agent == attempt.agent)
            and (self.contains is None or occurs_in(self.contains, attempt.prompt))
        )

    def reply_to(self, prompt: Prompt) -> Reply:
        is_structured, is_program = prompt.output_schema is not None, bool(prompt.argv)
        reply = self._replies.get((is_structured, is_program))
        if reply is None:
            reply = self._replies[is_structured, is_program] = _reply(self.declaration, is_structured, is_program)
        return reply


class Script:
    """The `answers` of a valid Script manifest, indexed by task."""

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self.answers = tuple(_answer(number, declaration) for number, declaration in enumerate(answers, 1))
        self._call_answers = _Index(answer for answer in self.answers if not answer.is_for_command_checks)
        self._check_answers = _Index(answer for answer in self.answers if answer.is_for_command_checks)

    def first(self, attempt: Attempt) -> AnswerRule | None:
        """The first answer that matches the call; None if there is none."""
        index = self._check_answers if is_command_check(attempt) else self._call_answers
        found: AnswerRule | None = None
        for answers in index.candidate_lists(attempt.task):
            for answer in answers:
                if found is not None and answer.number > found.number:
                    break
                if answer.matches(attempt):
                    found = answer
                    break
        return found

    def candidates(self, task: str) -> list[AnswerRule]:
        """The answers that could apply to a task: first the answers that name it, then the answers without a task."""
        indexes = (self._call_answers, self._check_answers)
        answers = [answer for index in indexes for answers in index.candidate_lists(task) for answer in answers]
        return sorted(answers, key=lambda answer: (answer.task is None, answer.number))


class _Index:
    """Answers by the name of their task, in the script's order."""

    __slots__ = ("_any_task", "_by_task")

    def __init__(self, answers: Iterator[AnswerRule]) -> None:
        self._by_task: dict[str, list[AnswerRule]] = {}
        self._any_task: list[AnswerRule] = []
        for answer in answers:
            if answer.task is None:
                self._any_task.append(answer)
            else:
                self._by_task.setdefault(answer.task, []).append(answer)

    def candidate_lists(self, task: str) -> list[list[AnswerRule]]:
        by_task = self._by_task
        if not by_task:
            return [self._any_task]
        return [*(by_task[name] for name in matching_names(task) if name in by_task), self._any_task]


def matching_names(task: str) -> tuple[str, ...]:
    """The names by which an answer can select a task (MANIFEST-SCRIPT-001): `a[x=1]/b[2]` is also `a[x=1]/b`, `a/b[2]`,
    `a/b`, `b[2]` and `b`."""
    if "[" not in task:
        last = task.rpartition("/")[2]
        return (task,) if last == task else (task, last)
    names = {task, bare := _BRACKETS.sub("", task)}
    if number := _INSTANCE_NUMBER.search(task):
        names |= {task[: number.start()], bare + number[0]}
    return tuple(names | {name.rpartition("/")[2] for name in names})


def is_command_check(attempt: Attempt) -> bool:
    return attempt.agent is None and attempt.check is not None


def occurs_in(text: str, prompt: Prompt) -> bool:
    return (
        text in prompt.text
        or text in prompt.system
        or any(text in argument for argument in prompt.argv)
        or text in prompt.stdin.decode(errors="replace")
    )


def _answer(number: int, declaration: Mapping[str, Any]) -> AnswerRule:
    task = declaration.get("task")
    if task is not None and task.endswith("]"):
        # The compiler accepts `each[01]` for `each[1]`.
        task = _INSTANCE_NUMBER.sub(r"[\1]", task)
    return AnswerRule(
        number=number,
        task=task,
        agent=declaration.get("agent"),
        attempt=declaration.get("attempt"),
        contains=declaration.get("contains"),
        is_for_command_checks="check" in declaration,
        latency_ms=_milliseconds(declaration["latency"]) if "latency" in declaration else 0,
        declaration=declaration,
    )


def _reply(declaration: Mapping[str, Any], is_structured: bool, is_program: bool) -> Reply:
    usage = Usage(**_without_extensions(declaration["usage"])) if "usage" in declaration else None
    if "error" in declaration:
        error = declaration["error"]
        kind = ErrorKind(error["kind"])
        retry_after_ms = _milliseconds(error["retry_after"]) if "retry_after" in error else None
        failure = Failure(kind, error.get("message", ""), retry_after_ms)
        exit_status = error.get("exit_status", 1 if kind is ErrorKind.EXIT_STATUS else None)
        return Reply(failure=failure, usage=usage, exit_status=exit_status)
    content = (
        declaration["reply"].encode() if "reply" in declaration else _content(declaration["output"], is_structured)
    )
    return Reply(content=content, usage=usage, exit_status=0 if is_program else None)


def _content(output: Any, is_structured: bool) -> bytes:
    return output.encode() if isinstance(output, str) and not is_structured else _canonical(output)


def _canonical(value: Any) -> bytes:
    """The value as RFC 8785 JSON, so that a script gives the same bytes in every implementation."""
    import rfc8785

    return rfc8785.dumps(value)


def _without_extensions(usage: Mapping[str, Any]) -> dict[str, int]:
    return {name: tokens for name, tokens in usage.items() if not name.startswith("x-")}


def _milliseconds(span: str) -> int:
    """Parses a duration such as `90s` (MANIFEST-UNIT-001)."""
    unit = span.lstrip("0123456789")
    return int(span[: -len(unit)]) * _MILLISECONDS[unit]
