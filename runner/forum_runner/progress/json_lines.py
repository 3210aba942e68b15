"""Progress for programs: a JSON object a line, the entries as they are written, and what is said beside them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from forum_runner.ledger.clock import TimeWriter, written_time
from forum_runner.progress.outlet import Outlet
from forum_runner.progress.run_time import RunTime
from forum_runner.progress.waits import Waits, wait_ms


class JsonProgress:
    """Everything beyond ASCII is escaped: a line may end up on a terminal."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._outlet = Outlet(stream)
        self._at_us = 0
        self._times = TimeWriter(lambda: self._at_us)
        self._time = RunTime(clock)
        self._waits = Waits()
        self.has_begun = False

    def event(self, name: str, **facts: Any) -> None:
        """What is no entry: its kind is `progress.`, and the name."""
        self._write({"kind": f"progress.{name}", **facts})

    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        # A run of a repetition may begin before the one before has ended on its own clock.
        self._times = TimeWriter(lambda: self._at_us)
        counts = {"tasks": len(wave_plan.get("tasks", ())), "waves": len(wave_plan.get("waves", ()))}
        self.event("opened", run=run, directory=str(directory), **counts)

    def recall(self, _seq: int, at_us: int, _kind: str, _data: Mapping[str, Any]) -> None:
        """Whoever wants the entries from before has them in the ledger."""
        self._time.set(at_us)

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        self._at_us = at_us
        self._time.set(at_us)
        self._write({"seq": seq, "at": self._times.now(), "kind": kind, "data": data})

    def waiting(self, until_us: int, why: str) -> None:
        now_us = self._time.now_us()
        if self._waits.are_worth_telling(until_us, why, now_us):
            self.event("waiting", until=written_time(until_us), wait_ms=wait_ms(until_us, now_us), why=why)

    def stopping(self) -> None:
        self.event("stopping")

    def close(self) -> None:
        """Every line was written at once."""

    def _write(self, document: Mapping[str, Any]) -> None:
        self.has_begun = True
        self._outlet.write(json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")
