"""Progress for a CI log: one line per event, with the time that the run has been active."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from forum_runner.observer import ObservedEntry
from forum_runner.progress.entry_clock import EntryClock, wait_text
from forum_runner.progress.run_display import RunDisplay
from forum_runner.progress.run_view import STOPPING, RunView
from forum_runner.report.paint import STATE_COLORS, painted
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class PlainProgress(RunDisplay):
    def __init__(self, stream: TextIO, *, color: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, color=color)
        self._view = RunView()
        self._entry_clock = EntryClock(clock)

    def opened(self, run: str, directory: Path, plan: WavePlan | None) -> None:
        self._view = RunView(run, directory, plan)
        self._entry_clock.restart()
        self._write(self._view.opening_lines())

    def earlier_entries(self, entries: Iterable[ObservedEntry]) -> None:
        for entry in entries:
            self._view.apply(*entry)
            self._entry_clock.set(entry[1])

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        lines = self._view.lines(*self._view.apply(seq, at_us, kind, data))
        self._entry_clock.set(at_us)
        if lines:
            state = data.get("state", data.get("status"))
            self._write(lines, STATE_COLORS.get(state) if self._color and isinstance(state, str) else None)

    def waiting(self, until_us: int, reason: str) -> None:
        wait_ms = self._entry_clock.long_wait_ms(until_us, reason)
        if wait_ms is not None:
            self._write([wait_text(wait_ms, reason)], at_us=self._entry_clock.now_us())

    def stopping(self) -> None:
        self._write([STOPPING], at_us=self._entry_clock.now_us())

    def _write(self, lines: Iterable[str], paint: str | None = None, at_us: int | None = None) -> None:
        """Writes lines with the active time of the run. `at_us` is the time of an event that is not an entry."""
        history = self._view.history
        active_us = history.active_us if at_us is None else history.active_us_at(at_us)
        stamp = f"[{active_us // 100_000 / 10:>6.1f}s]"
        self._outlet.write("".join(f"{stamp} {painted(line, paint is not None, fg=paint)}\n" for line in lines))
