"""Progress for programs: one JSON object per line, for entries and for other events."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from forum_runner.ledger.clock import format_time
from forum_runner.observer import ObservedEntry
from forum_runner.progress.entry_clock import EntryClock
from forum_runner.progress.run_display import RunDisplay
from forum_runner.report import Report
from forum_runner.report.finding_formats import finding_document
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class JsonProgress(RunDisplay):
    """Writes entries and events as JSON lines. Escapes non-ASCII characters, as the lines may end up on a terminal."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._entry_clock = EntryClock(clock)
        self.has_written = False

    def event(self, name: str, _sentence: str = "", /, **facts: Any) -> None:
        """Writes an event with the kind `progress.NAME`. The sentence is for people and is not written."""
        self._write({"kind": f"progress.{name}", **facts})

    def warnings(self, report: Report) -> None:
        for finding in report.findings:
            self.event("finding", finding=finding_document(finding))

    def opened(self, run: str, directory: Path, plan: WavePlan | None) -> None:
        self._entry_clock.restart()
        tasks, waves = (len(plan.tasks), len(plan.waves)) if plan else (0, 0)
        self.event("opened", run=run, directory=str(directory), tasks=tasks, waves=waves)

    def earlier_entries(self, entries: Iterable[ObservedEntry]) -> None:
        """Sets the clock to the last of the entries. Does not write them: they are already in the ledger."""
        for _, at_us, _, _ in entries:
            self._entry_clock.set(at_us)

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        self._entry_clock.set(at_us)
        self._write({"seq": seq, "at": format_time(at_us), "kind": kind, "data": data})

    def waiting(self, until_us: int, reason: str) -> None:
        wait_ms = self._entry_clock.long_wait_ms(until_us, reason)
        if wait_ms is not None:
            self.event("waiting", until=format_time(until_us), wait_ms=wait_ms, why=reason)

    def stopping(self) -> None:
        self.event("stopping")

    def _write(self, document: Mapping[str, Any]) -> None:
        self.has_written = True
        self._outlet.write(json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")
