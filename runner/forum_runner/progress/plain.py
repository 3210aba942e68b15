"""Progress for a CI log: a line for each thing that a reader wants to know, with the time since the run began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from forum_runner.progress.outlet import Outlet
from forum_runner.progress.states import STATE_COLORS
from forum_runner.progress.tally import Tally
from forum_runner.progress.words import STOPPING, Words
from forum_runner.report.amounts import shown
from forum_runner.report.paint import painted

# Shorter waits come and go with every rate limit, and would bury what a reader looks for.
_MIN_WAIT_US = 1_000_000


class PlainProgress:
    def __init__(self, stream: TextIO, *, color: bool = False) -> None:
        self._outlet = Outlet(stream)
        self._color = color
        self._tally = Tally({})
        self._words = Words("", Path(), self._tally)
        self._wait: tuple[int, str] | None = None

    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        self._tally = Tally(wave_plan)
        self._words = Words(run, directory, self._tally)
        self._write(self._words.opening())

    def recall(self, _seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        self._tally.fold(at_us, kind, data)

    def entry(self, _seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        unit = self._tally.fold(at_us, kind, data)
        lines = self._words.told(kind, data, unit)
        if lines:
            state = data.get("state", data.get("status")) if self._color else None
            self._write(lines, STATE_COLORS.get(state) if isinstance(state, str) else None)

    def waiting(self, until_us: int, why: str) -> None:
        now_us = self._tally.at_us
        if self._wait != (until_us, why) and (now_us is None or until_us - now_us >= _MIN_WAIT_US):
            self._wait = (until_us, why)
            self._write([f"waits: {shown(why)}"])

    def stopping(self) -> None:
        self._write([STOPPING])

    def close(self) -> None:
        """Every line was written at once."""

    def _write(self, lines: Iterable[str], paint: str | None = None) -> None:
        elapsed = f"[{self._tally.active_us // 100_000 / 10:>6.1f}s]"
        told = (f"{elapsed} {painted(line, paint is not None, fg=paint)}\n" for line in lines)
        self._outlet.write("".join(told))
