"""What a terminal shows of a run at one moment: lines that fit its width, as many as fit its height."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from forum_runner.finding import visible
from forum_runner.progress.bars import budget_bar, state_bar
from forum_runner.progress.states import STATE_COLORS
from forum_runner.progress.tally import Tally, Unit
from forum_runner.progress.words import performer
from forum_runner.report.amounts import money, shown, span
from forum_runner.report.budget_words import AMOUNTS, used_amount, used_of

_MAX_UNITS = 12
_MAX_WIDTH = 110
_SPINNER, _ASCII_SPINNER = "\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f", "|/-\\"
_SPINS_PER_SECOND = 10
_AXIS = re.compile(r"(?<=[\[,])[^\[\],=]+=")
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
class Note:
    """One of the last things that happened."""

    line: str
    state: str | None = None


def frame(
    tally: Tally, run: str, now_us: int, screen: Screen, notes: Iterable[Note] = (), wait: str | None = None
) -> list[Text]:
    """The head and the budgets always; of what is under way, and then of what happened, as much as has room."""
    head = _head(tally, run, now_us, screen)
    budgets = list(_budgets(tally, now_us, screen))
    # One line stays free for the cursor, one each for what was left out and for what is waited for.
    room = max(1, screen.height - len(head) - len(budgets) - 3)
    units = _units(tally, now_us, screen, min(room, _MAX_UNITS))
    told = list(notes)[-max(0, room - len(units)) :] if room > len(units) else []
    lines = [*head, *units]
    if wait:
        lines.append(Text(shown(wait), "dim"))
    lines += [*budgets, *(Text(note.line, _STYLES.get(note.state or "", "dim")) for note in told)]
    return [_fitted(line, screen) for line in lines]


def closing_frame(tally: Tally, run: str, now_us: int, screen: Screen) -> list[Text]:
    """What stays on the screen: the result that is printed after it tells the rest."""
    return [_fitted(line, screen) for line in _head(tally, run, now_us, screen)]


def _head(tally: Tally, run: str, now_us: int, screen: Screen) -> list[Text]:
    title = Text().append(shown(tally.name) or "run", "bold")
    if tally.status is not None:
        title.append(f"  {shown(tally.status)}", _STYLES.get(tally.status, "bold"))
    elif tally.paused is not None:
        title.append(f"  paused ({shown(tally.paused)})", "bold yellow")
    title.append(f"  {span(tally.active_at(now_us) // 1_000)}")
    title.append(f"  {shown(run)}", "dim")
    lines = [title]
    if tally.wave:
        size = len(tally.waves[tally.wave - 1]) if tally.wave <= len(tally.waves) else 0
        words = f"wave {tally.wave:,} of {len(tally.waves):,}: {tally.wave_ended:,} of {size:,} ended"
        lines.append(Text(words))
    lines += _states("tasks", tally.ended, len(tally.tasks), screen)
    if tally.instances:
        lines += _states("instances", tally.instances_ended, tally.instances, screen)
    return lines


def _states(what: str, counts: Mapping[str, int], total: int, screen: Screen) -> Iterator[Text]:
    line = Text(f"{what:<9} ")
    line.append_text(state_bar(counts, _STYLES, total, screen.bar_width, is_ascii=screen.is_ascii))
    line.append(f" {sum(counts.values()):,} of {total:,}")
    for state in (state for state in _STYLES if counts.get(state)):
        word = f"{counts[state]:,} {state}"
        if line.cell_len + len(word) + 2 > screen.width:
            yield line
            line = Text(" " * 8)
        line.append("  ").append(word, _STYLES[state])
    yield line


def _units(tally: Tally, now_us: int, screen: Screen, most: int) -> list[Text]:
    """Those that are tried again, those with an open call, and then others; what has no room is counted."""
    again = [unit for unit in tally.units.values() if unit.is_tried_again]
    at_work = [unit for unit in tally.units.values() if unit.is_at_work and not unit.is_tried_again]
    others = [unit for unit in tally.units.values() if not unit.is_at_work and not unit.is_tried_again]
    # Neither of the first two is to hide the other.
    shares = most - min(len(at_work), most // 2)
    listed = [*again[:shares], *at_work, *again[shares:], *others][:most]
    if not listed:
        return []
    names = _names(listed, max(10, screen.width * 2 // 5))
    lines = [_unit(unit, name, now_us, screen) for unit, name in zip(listed, names, strict=True)]
    more = len(tally.units) - len(listed)
    return [*lines, Text(f"  and {more:,} more", "dim")] if more else lines


def _names(units: Sequence[Unit], max_width: int) -> list[str]:
    """All of one width. Where one is too long, those that come of a matrix go without the names of its axes."""
    names = [visible(unit.task) for unit in units]
    if max(map(cell_len, names)) > max_width:
        names = [_AXIS.sub("", name) for name in names]
    width = min(max_width, max(map(cell_len, names)))
    return [set_cell_size(_cut(name, width), width) for name in names]


def _unit(unit: Unit, name: str, now_us: int, screen: Screen) -> Text:
    line = Text().append(f"{_spin(now_us, screen) if unit.is_at_work else '-'} ", "cyan")
    line.append(name, "bold" if unit.is_at_work else None)
    line.append(f" {span(max(0, now_us - unit.since_us) // 1_000):>6}  {shown(unit.doing)}")
    if unit.attempt:
        line.append(f", attempt {unit.attempt:,}")
    if unit.agent:
        line.append(f"  {performer(unit)}", "dim")
    return line


def _budgets(tally: Tally, now_us: int, screen: Screen) -> Iterator[Text]:
    reserved = tally.reserved
    for name in (name for name in AMOUNTS if name in tally.limits):
        limit = tally.limits[name]
        used = tally.active_at(now_us) // 1_000 if name == "wall_ms" else used_amount(tally.used, name)
        held = used_amount(reserved, name)
        line = Text(f"{'budget':<9} ")
        line.append_text(budget_bar(used, held, limit, screen.bar_width, is_ascii=screen.is_ascii))
        line.append(f" {used_of(name, used, limit)}")
        yield line.append(f", {money(held) if name == 'micro_usd' else f'{held:,}'} reserved" if held else "")


def _spin(now_us: int, screen: Screen) -> str:
    marks = _ASCII_SPINNER if screen.is_ascii else _SPINNER
    return marks[now_us * _SPINS_PER_SECOND // 1_000_000 % len(marks)]


def _cut(text: str, width: int) -> str:
    """Keeps both ends: names that come of one matrix begin alike."""
    if cell_len(text) <= width:
        return text
    tail = text[-((width - 3) // 2) :]
    return f"{set_cell_size(text, width - 3 - cell_len(tail)).rstrip()}...{tail}"


def _fitted(line: Text, screen: Screen) -> Text:
    """One row, whatever it holds: rows that wrap would move what stands below them."""
    line.no_wrap = True
    line.truncate(min(screen.width, _MAX_WIDTH), overflow="crop" if screen.is_ascii else "ellipsis")
    return line
