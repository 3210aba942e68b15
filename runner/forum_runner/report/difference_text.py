"""The difference between two runs as text, beginning with the first divergence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import orjson

from forum_runner.history.difference import RunDifference, RunDivergence, comparable, is_salted
from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.read_entry import get_object, get_str
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip, duration, money, short_digest
from forum_runner.report.log_line import log_line
from forum_runner.report.paint import painted
from forum_runner.report.summary_text import end_text
from forum_runner.report.table import table

T = TypeVar("T")
Row = tuple[str, str, str, str]
_MAX_ROWS = 200
_MAX_FACTS = 20
# Data nested deeper than this is compared as JSON.
_MAX_DEPTH = 4
_ABSENT = "-"


def render_difference(difference: RunDifference, *, color: bool) -> Iterator[str]:
    if difference.is_empty:
        tasks = counted(len(difference.left.tasks), "task")
        yield painted(f"no difference: same plan, same entries for {tasks}", color, fg="green")
    elif difference.divergence is not None:
        yield from _divergence(difference.divergence, color)
    else:
        yield "no entry differs, but the runs have different plans or contain lines that are not entries"
    rows = list(difference_rows(difference))
    if rows:
        yield ""
        yield from table([("what", "", "A", "B"), *rows[:_MAX_ROWS]], color=color)
        if len(rows) > _MAX_ROWS:
            yield f"... and {len(rows) - _MAX_ROWS:,} more"
    yield ""
    yield "Not compared: times, run ids, seqs, causes and hashes of lines."
    if difference.salted:
        yield f"Not compared: the bytes of {counted(difference.salted, 'salted body', 'salted bodies')}."


def difference_rows(difference: RunDifference) -> Iterator[Row]:
    """The facts of the runs, their tasks and their outputs that differ, each with its subject and both values.

    Includes how long the runs took.
    """
    yield from _changed("run", _RUN_FACTS, difference.left, difference.right)
    left_tasks, right_tasks = difference.left.tasks, difference.right.tasks
    for task in {**left_tasks, **right_tasks}:
        yield from _task_rows(task, left_tasks.get(task), right_tasks.get(task))
    left_outputs, right_outputs = difference.left.outputs, difference.right.outputs
    for name in {**left_outputs, **right_outputs}:
        values = _digest(left_outputs.get(name)), _digest(right_outputs.get(name))
        if values[0] != values[1]:
            yield f"output {clip(name)}", "value", *values


def changed_facts(divergence: RunDivergence) -> list[tuple[str, str, str]]:
    """The facts that differ between the two entries where the runs diverge; empty if one run has no entry there."""
    if divergence.left is None or divergence.right is None:
        return []
    left, right = dict(_leaves(comparable(divergence.left))), dict(_leaves(comparable(divergence.right)))
    names = sorted({**left, **right})
    return [
        (name, left.get(name, _ABSENT), right.get(name, _ABSENT)) for name in names if left.get(name) != right.get(name)
    ]


def _divergence(divergence: RunDivergence, color: bool) -> Iterator[str]:
    location = f"{clip(divergence.subject)}, entry {divergence.index + 1:,}"
    yield painted(f"first divergence: {location}", color, bold=True)
    for side, entry in (("A", divergence.left), ("B", divergence.right)):
        yield f"  {side} {log_line(entry, color=color) if entry else 'no more entries'}"
    for name, left, right in changed_facts(divergence)[:_MAX_FACTS]:
        yield f"    {clip(name)}: {clip(left, 80)} | {clip(right, 80)}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if type(value) is dict and value and path.count(".") < _MAX_DEPTH - 1:
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else name)
    else:
        yield path, value if type(value) is str else orjson.dumps(value).decode()


def _task_rows(task: str, left: TaskHistory | None, right: TaskHistory | None) -> Iterator[Row]:
    name = f"task {clip(task, 80)}"
    if left is None or right is None:
        yield name, "state", left.state if left else _ABSENT, right.state if right else _ABSENT
    else:
        yield from _changed(name, _TASK_FACTS, left, right)


def _changed(subject: str, facts: Mapping[str, Callable[[T], str]], left: T, right: T) -> Iterator[Row]:
    for label, read in facts.items():
        values = clip(read(left)), clip(read(right))
        if values[0] != values[1]:
            yield subject, label, *values


def _digest(body: Mapping[str, Any] | None) -> str:
    if body is None:
        return _ABSENT
    return "salted" if is_salted(body) else short_digest(get_str(body, "digest") or "")


def _opening_fact(name: str) -> Callable[[RunHistory], str]:
    return lambda history: get_str(history.opened.data, name) or _ABSENT if history.opened else _ABSENT


def _program(history: RunHistory) -> str:
    implementation = get_object(history.opened.data, "implementation") if history.opened else {}
    return f"{get_str(implementation, 'name')} {get_str(implementation, 'version')}" if implementation else _ABSENT


def _elapsed(history: RunHistory) -> str:
    return duration(history.elapsed_ms) if history.elapsed_ms is not None else _ABSENT


_RUN_FACTS: dict[str, Callable[[RunHistory], str]] = {
    "plan": _opening_fact("wave_plan"),
    "bundle": _opening_fact("bundle"),
    "mode": _opening_fact("mode"),
    "program": _program,
    "ended": end_text,
    "lines that are not entries": lambda history: f"{history.unreadable:,}",
    "calls": lambda history: f"{history.usage.calls:,}",
    "tokens": lambda history: f"{history.usage.tokens:,}",
    "money": lambda history: money(history.usage.micro_usd),
    "time": _elapsed,
}

_TASK_FACTS: dict[str, Callable[[TaskHistory], str]] = {
    "state": lambda task: task.state,
    "reason": lambda task: task.reason or _ABSENT,
    "attempts": lambda task: f"{task.attempts:,}",
    "agent": lambda task: task.agent or _ABSENT,
    "tier": lambda task: task.tier or _ABSENT,
    "adapter": lambda task: task.adapter or _ABSENT,
    "tokens": lambda task: f"{task.usage.tokens:,}",
    "money": lambda task: money(task.usage.micro_usd),
    "verdicts": lambda task: ", ".join(f"{number:,} {verdict}" for verdict, number in task.verdicts.items()),
    "output": lambda task: _digest(task.output),
}
