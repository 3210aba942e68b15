"""Progress for programs: one JSON object per line, for each entry and each event beside the entries."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from forum_runner.ledger.clock import written_time
from forum_runner.progress.entry_clock import EntryClock
from forum_runner.progress.outlet import Outlet
from forum_runner.progress.waits import Waits, wait_ms


class JsonProgress:
    """Everything beyond ASCII is escaped, because terminals may print it."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._outlet = Outlet(stream)
        self._time = EntryClock(clock)
        self._waits = Waits()
        self.has_begun = False

    def event(self, name: str, **facts: Any) -> None:
        """An event that is not an entry; its kind is `progress.NAME`."""
        self._write({"kind": f"progress.{name}", **facts})

    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        counts = {"tasks": len(wave_plan.get("tasks", ())), "waves": len(wave_plan.get("waves", ()))}
        self.event("opened", run=run, directory=str(directory), **counts)

    def recall(self, _seq: int, at_us: int, _kind: str, _data: Mapping[str, Any]) -> None:
        """Entries of earlier processes are in the ledger, and not repeated."""
        self._time.set(at_us)

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        self._time.set(at_us)
        self._write({"seq": seq, "at": written_time(at_us), "kind": kind, "data": data})

    def waiting(self, until_us: int, why: str) -> None:
        now_us = self._time.now_us()
        if self._waits.is_reported(until_us, why, now_us):
            self.event("waiting", until=written_time(until_us), wait_ms=wait_ms(until_us, now_us), why=why)

    def stopping(self) -> None:
        self.event("stopping")

    def close(self) -> None:
        """Every line is already written."""

    def _write(self, document: Mapping[str, Any]) -> None:
        self.has_begun = True
        self._outlet.write(json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")
