"""The adapter that answers from recorded calls, so a finished run can be replayed without making calls."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_adapters.known_replies import KnownReplies
from forum_adapters.memo import Memo

_MAX_LISTED = 10
_MAX_DIFF_LINES = 20
_MAX_COMPARED_LINES = 100
_MAX_LINE = 160
_CONTEXT_LINES = 3
_CONTEXT_CHARACTERS = 40
_MAX_EXCERPT = 32
_EXCERPT_BEFORE = 12

_Call = Mapping[str, Any]
# By task, then by attempt and check. A check without a verdict is repeated, so one key may have several calls.
_Recorded = dict[str, dict[tuple[int, int | None], list[_Call]]]


class ReplayAdapter(KnownReplies):
    """`settings["recorded"]` lists the calls: `task`, `attempt`, `check`, `agent`, `prompt`, `latency_ms`, `reply`.

    A part of the prompt (`system`, `text`, `argv`, `stdin`) that was not recorded is absent, and not compared. If
    several recorded calls match, the last one provides the reply: the run continued with that one.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._calls = settings.get("recorded", ())
        self._recorded = Memo(_by_place)

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        of_task = self._recorded.of(attempt.settings.get("recorded", self._calls)).get(attempt.task, {})
        calls = of_task.get((attempt.number, attempt.check))
        if calls is None:
            return _miss(_unrecorded(attempt, of_task)), 0
        for call in reversed(calls):
            if next(_differences(call, attempt), None) is None:
                return call["reply"], call["latency_ms"]
        return _miss(_differing(calls[-1], attempt)), 0


def _by_place(calls: Sequence[_Call]) -> _Recorded:
    recorded: _Recorded = {}
    for call in calls:
        of_task = recorded.setdefault(call["task"], {})
        of_task.setdefault((call["attempt"], call["check"]), []).append(call)
    return recorded


def _differences(call: _Call, attempt: Attempt) -> Iterator[tuple[str, str, str]]:
    """The fields that differ, each with the recorded and the requested value as text."""
    prompt = attempt.prompt
    recorded = call["prompt"]
    if "agent" in call and call["agent"] != attempt.agent:
        yield "agent", str(call["agent"]), str(attempt.agent)
    for name, asked in (("system", prompt.system), ("text", prompt.text)):
        if name in recorded and recorded[name] != asked:
            yield name, recorded[name], asked
    if "argv" in recorded and tuple(recorded["argv"]) != prompt.argv:
        yield "argv", _listed(recorded["argv"]), _listed(prompt.argv)
    if "stdin" in recorded and recorded["stdin"] != prompt.stdin:
        yield "stdin", _decoded(recorded["stdin"]), _decoded(prompt.stdin)


def _listed(argv: Sequence[str]) -> str:
    return "\n".join(map(repr, argv))


def _decoded(stdin: bytes) -> str:
    # Double each backslash, so that different bytes never become the same text.
    return stdin.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


def _miss(message: str) -> Reply:
    return Reply(failure=Failure(ErrorKind.INVALID_REQUEST, message))


def _unrecorded(attempt: Attempt, of_task: Mapping[tuple[int, int | None], object]) -> str:
    wanted = f"task '{attempt.task}', {_place(attempt.number, attempt.check)}, was not recorded"
    if not of_task:
        return f"{wanted}; nothing of this task was"
    places = [_place(*place) for place in list(of_task)[:_MAX_LISTED]]
    rest = len(of_task) - len(places)
    return f"{wanted}; recorded of this task: {'; '.join(places)}" + (f"; and {rest} more" if rest else "")


def _place(number: int, check: int | None) -> str:
    return f"attempt {number}" if check is None else f"attempt {number} check {check}"


def _differing(call: _Call, attempt: Attempt) -> str:
    field, recorded, asked = next(_differences(call, attempt))
    where = f"task '{attempt.task}', {_place(attempt.number, attempt.check)}"
    if field == "agent":
        return f"{where}: the agent differs from the recorded one: '{recorded}' was recorded, '{asked}' is called"
    at = _first_difference(recorded, asked)
    line, column = recorded.count("\n", 0, at), at - (recorded.rfind("\n", 0, at) + 1)
    # A report shows only the first line, cut after 160 characters, and names the task itself.
    both = f"recorded {_excerpt(recorded, at)}, asked {_excerpt(asked, at)}"
    found = f"the prompt's {field} differs from line {line + 1}, column {column + 1} on: {both}"
    return "\n".join((found, f"{where}, - recorded, + asked", *_diff(recorded, asked, line, column)))


def _first_difference(recorded: str, asked: str) -> int:
    shorter = min(len(recorded), len(asked))
    return next((i for i in range(shorter) if recorded[i] != asked[i]), shorter)


def _excerpt(text: str, at: int) -> str:
    """The text around a position, on one line. It is escaped like JSON, so a scrubber recognizes secrets in it."""
    start = max(0, at - _EXCERPT_BEFORE)
    end = start + _MAX_EXCERPT
    quoted = json.dumps(text[start:end], ensure_ascii=False)
    shown = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in quoted)
    return ("..." if start else "") + shown + ("..." if end < len(text) else "")


def _diff(recorded: str, asked: str, line: int, column: int) -> Iterator[str]:
    """A unified diff, without its header, of the lines around the first difference: prompts may be long."""
    compared = slice(max(0, line - _CONTEXT_LINES), line + _MAX_COMPARED_LINES)
    before, after = recorded.split("\n")[compared], asked.split("\n")[compared]
    lines = list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT_LINES))
    lines = [shown for shown in lines[2:] if not shown.startswith("@@")]
    yield from (_cut(shown, column) for shown in lines[:_MAX_DIFF_LINES])
    if len(lines) > _MAX_DIFF_LINES:
        yield "..."


def _cut(line: str, column: int) -> str:
    """A line of a diff, or the part of a long line around the column."""
    mark, text = line[0], line[1:].replace("\r", "\\r")
    start = max(0, column - _CONTEXT_CHARACTERS) if len(text) > _MAX_LINE else 0
    end = start + _MAX_LINE
    return mark + ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
