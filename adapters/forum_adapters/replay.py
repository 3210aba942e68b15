"""The adapter that answers from the recorded calls of an earlier run. It makes no calls."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_adapters.known_replies import KnownReplies
from forum_adapters.memo import Memo

_MAX_LISTED_CALLS = 10
_MAX_DIFF_LINES = 20
_MAX_COMPARED_LINES = 100
_MAX_LINE_CHARACTERS = 160
_CONTEXT_LINES = 3
_CONTEXT_CHARACTERS = 40
_MAX_EXCERPT_CHARACTERS = 32
_EXCERPT_CHARACTERS_BEFORE = 12

_Call = Mapping[str, Any]
# Calls by task, then by attempt and check. A check without a verdict is repeated, so one key may have several calls.
_Recorded = dict[str, dict[tuple[int, int | None], list[_Call]]]


class ReplayAdapter(KnownReplies):
    """Answers each call with the reply of its recorded counterpart, and refuses calls without one.

    `settings["recorded"]` lists the calls: `task`, `attempt`, `check`, `agent`, `prompt`, `latency_ms`, `reply`. Parts
    of a prompt (`system`, `text`, `argv`, `stdin`) that were not recorded are absent and not compared. If several
    recorded calls match, the last one provides the reply, because the run continued with its result.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._calls = settings.get("recorded", ())
        self._recorded = Memo(_index_calls)

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        task_calls = self._recorded.get(attempt.settings.get("recorded", self._calls)).get(attempt.task, {})
        calls = task_calls.get((attempt.number, attempt.check))
        if calls is None:
            return _invalid_request(_unrecorded_message(attempt, task_calls)), 0
        for call in reversed(calls):
            if next(_differences(call, attempt), None) is None:
                return call["reply"], call["latency_ms"]
        return _invalid_request(_difference_message(calls[-1], attempt)), 0


def _index_calls(calls: Sequence[_Call]) -> _Recorded:
    recorded: _Recorded = {}
    for call in calls:
        task_calls = recorded.setdefault(call["task"], {})
        task_calls.setdefault((call["attempt"], call["check"]), []).append(call)
    return recorded


def _differences(call: _Call, attempt: Attempt) -> Iterator[tuple[str, str, str]]:
    """The fields that differ, each with the recorded and the requested value as text."""
    prompt = attempt.prompt
    recorded = call["prompt"]
    if "agent" in call and call["agent"] != attempt.agent:
        yield "agent", str(call["agent"]), str(attempt.agent)
    for name, requested in (("system", prompt.system), ("text", prompt.text)):
        if name in recorded and recorded[name] != requested:
            yield name, recorded[name], requested
    if "argv" in recorded and tuple(recorded["argv"]) != prompt.argv:
        yield "argv", _format_argv(recorded["argv"]), _format_argv(prompt.argv)
    if "stdin" in recorded and recorded["stdin"] != prompt.stdin:
        yield "stdin", _decode_stdin(recorded["stdin"]), _decode_stdin(prompt.stdin)


def _format_argv(argv: Sequence[str]) -> str:
    return "\n".join(map(repr, argv))


def _decode_stdin(stdin: bytes) -> str:
    # Double each backslash, so that different bytes never become the same text.
    return stdin.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


def _invalid_request(message: str) -> Reply:
    return Reply(failure=Failure(ErrorKind.INVALID_REQUEST, message))


def _unrecorded_message(attempt: Attempt, task_calls: Mapping[tuple[int, int | None], object]) -> str:
    problem = f"task '{attempt.task}', {_position(attempt.number, attempt.check)}, was not recorded"
    if not task_calls:
        return f"{problem}; the recording has no call of this task"
    positions = [_position(*key) for key in list(task_calls)[:_MAX_LISTED_CALLS]]
    rest = len(task_calls) - len(positions)
    return f"{problem}; recorded calls of this task: {'; '.join(positions)}" + (f"; and {rest} more" if rest else "")


def _position(number: int, check: int | None) -> str:
    return f"attempt {number}" if check is None else f"attempt {number} check {check}"


def _difference_message(call: _Call, attempt: Attempt) -> str:
    field, recorded, requested = next(_differences(call, attempt))
    where = f"task '{attempt.task}', {_position(attempt.number, attempt.check)}"
    if field == "agent":
        return f"{where}: the agent differs: recorded '{recorded}', requested '{requested}'"
    offset = _first_difference(recorded, requested)
    line, column = recorded.count("\n", 0, offset), offset - (recorded.rfind("\n", 0, offset) + 1)
    # The location comes first: a report names the task itself and shows 160 characters of the message's first line.
    excerpts = f"recorded {_excerpt(recorded, offset)}, requested {_excerpt(requested, offset)}"
    difference = f"the prompt's {field} first differs at line {line + 1}, column {column + 1}: {excerpts}"
    return "\n".join((difference, f"{where}, - recorded, + requested", *_diff(recorded, requested, line, column)))


def _first_difference(recorded: str, requested: str) -> int:
    shorter = min(len(recorded), len(requested))
    return next((i for i in range(shorter) if recorded[i] != requested[i]), shorter)


def _excerpt(text: str, offset: int) -> str:
    """The text around a position, on one line. It is escaped like JSON, so a scrubber recognizes secrets in it."""
    start = max(0, offset - _EXCERPT_CHARACTERS_BEFORE)
    end = start + _MAX_EXCERPT_CHARACTERS
    quoted = json.dumps(text[start:end], ensure_ascii=False)
    printable = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in quoted)
    return ("..." if start else "") + printable + ("..." if end < len(text) else "")


def _diff(recorded: str, requested: str, line: int, column: int) -> Iterator[str]:
    """A unified diff, without its header, of the lines around the first difference: prompts may be long."""
    window = slice(max(0, line - _CONTEXT_LINES), line + _MAX_COMPARED_LINES)
    before, after = recorded.split("\n")[window], requested.split("\n")[window]
    lines = list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT_LINES))
    lines = [diff_line for diff_line in lines[2:] if not diff_line.startswith("@@")]
    yield from (_shorten(diff_line, column) for diff_line in lines[:_MAX_DIFF_LINES])
    if len(lines) > _MAX_DIFF_LINES:
        yield "..."


def _shorten(line: str, column: int) -> str:
    """Reduces a long line of a diff to the part around the column."""
    mark, text = line[0], line[1:].replace("\r", "\\r")
    start = max(0, column - _CONTEXT_CHARACTERS) if len(text) > _MAX_LINE_CHARACTERS else 0
    end = start + _MAX_LINE_CHARACTERS
    return mark + ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
