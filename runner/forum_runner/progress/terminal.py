"""Progress for a terminal that somebody watches: one display that is drawn again a few times a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import IO, Any, TextIO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from forum_runner.progress.frame import Note, Screen, closing_frame, frame
from forum_runner.progress.outlet import Outlet
from forum_runner.progress.run_time import RunTime
from forum_runner.progress.tally import Tally
from forum_runner.progress.waits import wait_ms, wait_words
from forum_runner.progress.words import STOPPING, Words

_FRAMES_PER_SECOND = 8
_MAX_NOTES = 6
_MAX_NOTE_LINES = 2
_NOTED = {"task.finished", "task.lost", "verdict.given", "verdict.lost", "escalation.raised", "task.ended"}
_NOTED |= {"budget.stopped", "budget.exceeded", "gate.opened", "gate.decided", "run.repaired"}
# A plan may skip thousands of tasks after one failure, and the failure is what is to be seen.
_UNREMARKABLE = ("passed", "skipped", "pass", "ok")


class TerminalProgress:
    """Entries are counted as they come; drawing is another thread's, and takes the lock only to look."""

    def __init__(
        self, stream: TextIO, *, color: bool, clock: Callable[[], float] = time.monotonic, is_drawn: bool = True
    ) -> None:
        """Without `is_drawn` nothing is drawn but by `draw` and at the end."""
        self._console = Console(
            file=cast("IO[str]", Outlet(stream)),
            force_terminal=True,
            color_system="auto" if color else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._time = RunTime(clock)
        self._is_drawn = is_drawn
        self._lock = Lock()
        self._live: Live | None = None
        self._wait: tuple[int, str] | None = None
        self._begin("", Path(), {})

    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        self.close()
        self._begin(run, directory, wave_plan)
        self._live = Live(
            console=self._console,
            get_renderable=self._frame,
            auto_refresh=self._is_drawn,
            refresh_per_second=_FRAMES_PER_SECOND,
            # Standard output may be a file, while this is standard error: what is printed there is not ours to move.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def recall(self, _seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            self._tally.fold(at_us, kind, data)
            self._time.set(at_us)

    def entry(self, _seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            unit = self._tally.fold(at_us, kind, data)
            self._time.set(at_us)
            self._wait = None
            if kind in _NOTED and _is_remarkable(data):
                state = data.get("state")
                for line in self._words.told(kind, data, unit)[:_MAX_NOTE_LINES]:
                    self._notes.append(Note(line, state if isinstance(state, str) else None))

    def waiting(self, until_us: int, why: str) -> None:
        with self._lock:
            self._wait = (until_us, why)

    def stopping(self) -> None:
        with self._lock:
            self._notes.append(Note(STOPPING, None))

    def close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            self._is_closing = True
            live.stop()

    def draw(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def _begin(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        self._tally = Tally(wave_plan)
        self._words = Words(run, directory, self._tally)
        self._notes: deque[Note] = deque(maxlen=_MAX_NOTES)
        self._wait = None
        self._time.set(0)
        self._is_closing = False

    def _frame(self) -> Group:
        size = self._console.size
        screen = Screen(size.width, size.height, self._console.options.ascii_only)
        with self._lock:
            now_us = self._time.now_us()
            if self._is_closing:
                return Group(*closing_frame(self._tally, self._words.run, now_us, screen))
            lines = frame(self._tally, self._words.run, now_us, screen, self._notes, self._wait_words(now_us))
            # A terminal shows the keys that are typed, ^C too, where the cursor is: at the end of a full row they would
            # take another one, and the rows above could not be found again.
            return Group(*lines, Text())

    def _wait_words(self, now_us: int) -> str | None:
        if self._wait is None or now_us >= self._wait[0]:
            return None
        return wait_words(wait_ms(self._wait[0], now_us), self._wait[1])


def _is_remarkable(data: Mapping[str, Any]) -> bool:
    return not any(data.get(name) in _UNREMARKABLE for name in ("status", "state", "verdict"))
