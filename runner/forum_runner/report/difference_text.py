"""Two runs side by side, for a person: where they part comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from forum_runner.ledger.difference import Difference, Divergence, comparable, is_salted
from forum_runner.ledger.read_entry import part, text
from forum_runner.ledger.summary import Summary, TaskStory
from forum_runner.report import counted
from forum_runner.report.amounts import between, money, short, shown, span
from forum_runner.report.log_line import log_line
from forum_runner.report.paint import painted
from forum_runner.report.summary_text import ending
from forum_runner.report.table import table

Row = tuple[str, str, str, str]
_MAX_ROWS = 200
_ABSENT = "-"


def render_difference(difference: Difference, *, color: bool) -> Iterator[str]:
    if difference.is_none:
        tasks = counted(len(difference.left.tasks), "task")
        yield painted(f"no difference: one plan, {tasks}, each with the same story", color, fg="green")
    elif difference.divergence is not None:
        yield from _parting(difference.divergence, color)
    else:
        yield "no entry differs, but the runs do"
    rows = list(rows_of(difference))
    if rows:
        yield ""
        yield from table([("what", "", "A", "B"), *rows[:_MAX_ROWS]], color=color)
        if len(rows) > _MAX_ROWS:
            yield f"... and {len(rows) - _MAX_ROWS:,} more"
    yield ""
    yield "Left out: times, run ids, seqs, causes and hashes of lines."
    if difference.salted:
        yield f"Not compared: the bytes of {counted(difference.salted, 'salted body').replace('bodys', 'bodies')}."


def rows_of(difference: Difference) -> Iterator[Row]:
    """What the two runs have not in common, and how long they took."""
    for what, tell in _RUN_FACTS.items():
        left, right = tell(difference.left), tell(difference.right)
        if left != right:
            yield "run", what, left, right
    left_tasks, right_tasks = difference.left.tasks, difference.right.tasks
    for task in {**left_tasks, **right_tasks}:
        yield from _task_rows(task, left_tasks.get(task), right_tasks.get(task))
    left_answers, right_answers = difference.left.answers, difference.right.answers
    for name in {**left_answers, **right_answers}:
        values = _digest(left_answers.get(name)), _digest(right_answers.get(name))
        if values[0] != values[1]:
            yield f"answer {shown(name)}", "value", *values


def changed_facts(divergence: Divergence) -> list[tuple[str, str, str]]:
    """The facts that are not the same in the two entries where the runs part."""
    if divergence.left is None or divergence.right is None:
        return []
    left, right = dict(_leaves(comparable(divergence.left))), dict(_leaves(comparable(divergence.right)))
    names = sorted({**left, **right})
    return [
        (name, left.get(name, _ABSENT), right.get(name, _ABSENT)) for name in names if left.get(name) != right.get(name)
    ]


def _parting(divergence: Divergence, color: bool) -> Iterator[str]:
    yield painted(
        f"first divergence: {shown(divergence.story)}, entry {divergence.place + 1:,} of its story", color, bold=True
    )
    for side, entry in (("A", divergence.left), ("B", divergence.right)):
        yield f"  {side} {log_line(entry, color=color) if entry else 'nothing: its story has ended'}"
    for name, left, right in changed_facts(divergence)[:20]:
        yield f"    {shown(name)}: {shown(left, 80)} | {shown(right, 80)}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if type(value) is dict and value and path.count(".") < 3:
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else name)
    else:
        yield path, value if type(value) is str else orjson.dumps(value).decode()


def _task_rows(task: str, left: TaskStory | None, right: TaskStory | None) -> Iterator[Row]:
    name = f"task {shown(task, 80)}"
    if left is None or right is None:
        yield name, "state", left.state if left else _ABSENT, right.state if right else _ABSENT
        return
    for what, tell in _TASK_FACTS.items():
        values = shown(tell(left)), shown(tell(right))
        if values[0] != values[1]:
            yield name, what, *values


def _digest(body: Mapping[str, Any] | None) -> str:
    if body is None:
        return _ABSENT
    return "salted" if is_salted(body) else short(text(body, "digest") or "")


def _opened(name: str) -> Callable[[Summary], str]:
    return lambda summary: shown(text(summary.opened.data, name) or _ABSENT) if summary.opened else _ABSENT


def _program(summary: Summary) -> str:
    implementation = part(summary.opened.data, "implementation") if summary.opened else {}
    return shown(f"{text(implementation, 'name')} {text(implementation, 'version')}") if implementation else _ABSENT


def _span(summary: Summary) -> str:
    took = between(summary.first.at, summary.ended.at) if summary.first and summary.ended else None
    return span(took) if took is not None else _ABSENT


_RUN_FACTS: dict[str, Callable[[Summary], str]] = {
    "plan": _opened("wave_plan"),
    "bundle": _opened("bundle"),
    "mode": _opened("mode"),
    "program": _program,
    "ended": ending,
    "lines that are no entries": lambda summary: f"{summary.unreadable:,}",
    "calls": lambda summary: f"{summary.totals.calls:,}",
    "tokens": lambda summary: f"{summary.totals.tokens:,}",
    "money": lambda summary: money(summary.totals.micro_usd),
    "time": _span,
}

_TASK_FACTS: dict[str, Callable[[TaskStory], str]] = {
    "state": lambda story: story.state,
    "reason": lambda story: story.reason or _ABSENT,
    "attempts": lambda story: f"{story.attempts:,}",
    "agent": lambda story: story.agent or _ABSENT,
    "tier": lambda story: story.tier or _ABSENT,
    "adapter": lambda story: story.adapter or _ABSENT,
    "tokens": lambda story: f"{story.usage.tokens:,}",
    "money": lambda story: money(story.usage.micro_usd),
    "verdicts": lambda story: ", ".join(f"{number:,} {verdict}" for verdict, number in story.verdicts.items()),
    "output": lambda story: _digest(story.output),
}
