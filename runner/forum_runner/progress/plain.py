"""Progress for a CI log: a line for each thing that a reader wants to know, with the time since the run began."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from forum_runner.progress.outlet import Outlet
from forum_runner.progress.run_time import RunTime
from forum_runner.progress.states import STATE_COLORS
from forum_runner.progress.tally import Tally
from forum_runner.progress.waits import Waits, wait_ms, wait_words
from forum_runner.progress.words import STOPPING, Words
from forum_runner.report.paint import painted


class PlainProgress:
    def __init__(self, stream: TextIO, *, color: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._outlet = Outlet(stream)
        self._color = color
        self._tally = Tally({})
        self._words = Words("", Path(), self._tally)
        self._time = RunTime(clock)
        self._waits = Waits()

    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        self._tally = Tally(wave_plan)
        self._words = Words(run, directory, self._tally)
        self._time.set(0)
        self._write(self._words.opening())

    def recall(self, _seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        self._tally.fold(at_us, kind, data)
        self._time.set(at_us)

    def entry(self, _seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        unit = self._tally.fold(at_us, kind, data)
        self._time.set(at_us)
        lines = self._words.told(kind, data, unit)
        if lines:
            state = data.get("state", data.get("status")) if self._color else None
            self._write(lines, STATE_COLORS.get(state) if isinstance(state, str) else None)

    def waiting(self, until_us: int, why: str) -> None:
        now_us = self._time.now_us()
        if self._waits.are_worth_telling(until_us, why, now_us):
            self._write([wait_words(wait_ms(until_us, now_us), why)], at_us=now_us)

    def stopping(self) -> None:
        self._write([STOPPING], at_us=self._time.now_us())

    def close(self) -> None:
        """Every line was written at once."""

    def _write(self, lines: Iterable[str], paint: str | None = None, at_us: int | None = None) -> None:
        """Of what is no entry, `at_us` is when it happens."""
        active_us = self._tally.active_us if at_us is None else self._tally.active_at(at_us)
        elapsed = f"[{active_us // 100_000 / 10:>6.1f}s]"
        told = (f"{elapsed} {painted(line, paint is not None, fg=paint)}\n" for line in lines)
        self._outlet.write("".join(told))
