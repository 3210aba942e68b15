"""One frame of the terminal display: lines that fit the width, as many as fit the height."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from forum_runner.finding import visible
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.clock import parse_time
from forum_runner.progress.bars import budget_bar, state_bar
from forum_runner.progress.run_view import RunView
from forum_runner.report.amounts import clip, duration
from forum_runner.report.budget_text import RESOURCES, number_text, used_amount, used_of_limit
from forum_runner.report.paint import STATE_COLORS
from forum_runner.wave_plan.unit_id import without_axis_names

_MAX_TASKS = 12
_MAX_WIDTH = 110
_SPINNER, _ASCII_SPINNER = "\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f", "|/-\\"
_SPINS_PER_SECOND = 10
_STYLES = {state: f"bold {color}" if state == "failed" else color for state, color in STATE_COLORS.items()}


@dataclass(frozen=True, slots=True)
class Screen:
    width: int
    height: int
    is_ascii: bool = False

    @property
    def bar_width(self) -> int:
        return max(8, min(30, self.width // 4))


@dataclass(frozen=True, slots=True)
class RecentEvent:
    line: str
    state: str | None = None


def frame(
    view: RunView, now_us: int, screen: Screen, events: Iterable[RecentEvent] = (), wait: str | None = None
) -> list[Text]:
    """The lines of a frame: the head, the wait, the budgets, and as many tasks in progress and recent events as fit."""
    head = _head(view, now_us, screen)
    budgets = list(_budgets(view, now_us, screen))
    # One line is for the cursor, one for the number of omitted tasks, and one for the wait.
    room = max(1, screen.height - len(head) - len(budgets) - 3)
    tasks = _tasks(view, now_us, screen, min(room, _MAX_TASKS))
    recent = list(events)[-max(0, room - len(tasks)) :] if room > len(tasks) else []
    lines = [*head, *tasks]
    if wait:
        lines.append(Text(clip(wait), "dim"))
    lines += [*budgets, *(Text(event.line, _STYLES.get(event.state or "", "dim")) for event in recent)]
    return [_fitted(line, screen) for line in lines]


def closing_frame(view: RunView, now_us: int, screen: Screen) -> list[Text]:
    """The lines that remain on the screen above the result."""
    return [_fitted(line, screen) for line in _head(view, now_us, screen)]


def _head(view: RunView, now_us: int, screen: Screen) -> list[Text]:
    history, waves = view.history, view.context.waves
    title = Text().append(clip(view.context.name) or "run", "bold")
    if history.is_sealed:
        title.append(f"  {clip(history.status)}", _STYLES.get(history.status, "bold"))
    elif history.pause_reason is not None:
        title.append(f"  paused ({clip(history.pause_reason)})", "bold yellow")
    title.append(f"  {duration(history.active_us_at(now_us) // 1_000)}")
    title.append(f"  {clip(view.run)}", "dim")
    lines = [title]
    if history.wave is not None:
        wave = waves[history.wave] if history.wave < len(waves) else ()
        ended = sum(task in history.tasks and task not in history.open_tasks for task in wave)
        lines.append(Text(f"wave {history.wave + 1:,} of {len(waves):,}: {ended:,} of {len(wave):,} ended"))
    lines += _states("tasks", history.end_states, len(view.context.tasks), screen)
    if history.instances:
        lines += _states("instances", history.instance_end_states, history.instances, screen)
    return lines


def _states(label: str, counts: Mapping[str, int], total: int, screen: Screen) -> Iterator[Text]:
    line = Text(f"{label:<9} ")
    line.append_text(state_bar(counts, _STYLES, total, screen.bar_width, is_ascii=screen.is_ascii))
    line.append(f" {sum(counts.values()):,} of {total:,}")
    for state in (state for state in _STYLES if counts.get(state)):
        word = f"{counts[state]:,} {state}"
        if line.cell_len + len(word) + 2 > screen.width:
            yield line
            line = Text(" " * 8)
        line.append("  ").append(word, _STYLES[state])
    yield line


def _tasks(view: RunView, now_us: int, screen: Screen, max_tasks: int) -> list[Text]:
    """Retried tasks, then tasks with an open call, then others. Tasks that do not fit are counted."""
    open_tasks = view.history.open_tasks.values()
    retried = [task for task in open_tasks if task.is_retried]
    working = [task for task in open_tasks if task.is_working and not task.is_retried]
    others = [task for task in open_tasks if not task.is_working and not task.is_retried]
    # Retried tasks leave up to half of the lines to working ones.
    share = max_tasks - min(len(working), max_tasks // 2)
    listed = [*retried[:share], *working, *retried[share:], *others][:max_tasks]
    if not listed:
        return []
    names = _names(listed, max(10, screen.width * 2 // 5))
    lines = [_task(view, task, name, now_us, screen) for task, name in zip(listed, names, strict=True)]
    more = len(open_tasks) - len(listed)
    return [*lines, Text(f"  and {more:,} more", "dim")] if more else lines


def _names(tasks: Sequence[TaskHistory], max_width: int) -> list[str]:
    """Task names, padded to the same width. If one is too long, instances of a matrix lose the names of their axes."""
    names = [visible(task.id) for task in tasks]
    if max(map(cell_len, names)) > max_width:
        names = [visible(without_axis_names(task.id)) for task in tasks]
    width = min(max_width, max(map(cell_len, names)))
    return [set_cell_size(_shortened(name, width), width) for name in names]


def _task(view: RunView, task: TaskHistory, name: str, now_us: int, screen: Screen) -> Text:
    since_us = parse_time(task.latest.at) if task.latest is not None else now_us
    line = Text().append(f"{_spin(now_us, screen) if task.is_working else '-'} ", "cyan")
    line.append(name, "bold" if task.is_working else None)
    return line.append(f" {duration(max(0, now_us - since_us) // 1_000):>6}  {view.activity(task)}")


def _budgets(view: RunView, now_us: int, screen: Screen) -> Iterator[Text]:
    history, limits = view.history, view.context.limits
    reserved = history.reserved
    for name in (name for name in RESOURCES if name in limits):
        limit = limits[name]
        used = history.active_us_at(now_us) // 1_000 if name == "wall_ms" else used_amount(history.usage, name)
        reservation = used_amount(reserved, name)
        line = Text(f"{'budget':<9} ")
        line.append_text(budget_bar(used, reservation, limit, screen.bar_width, is_ascii=screen.is_ascii))
        line.append(f" {used_of_limit(name, used, limit)}")
        yield line.append(f", {number_text(name, reservation)} reserved" if reservation else "")


def _spin(now_us: int, screen: Screen) -> str:
    marks = _ASCII_SPINNER if screen.is_ascii else _SPINNER
    return marks[now_us * _SPINS_PER_SECOND // 1_000_000 % len(marks)]


def _shortened(text: str, width: int) -> str:
    """Shortens text in the middle, because instances of one matrix begin alike."""
    if cell_len(text) <= width:
        return text
    tail = text[-((width - 3) // 2) :]
    return f"{set_cell_size(text, width - 3 - cell_len(tail)).rstrip()}...{tail}"


def _fitted(line: Text, screen: Screen) -> Text:
    """Truncates a line to one row: a row that wraps would move the rows below it."""
    line.no_wrap = True
    line.truncate(min(screen.width, _MAX_WIDTH), overflow="crop" if screen.is_ascii else "ellipsis")
    return line
