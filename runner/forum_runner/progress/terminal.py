"""Progress for an interactive terminal: one display, redrawn a few times per second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import IO, Any, TextIO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from forum_runner.observer import ObservedEntry
from forum_runner.progress.entry_clock import EntryClock, wait_text
from forum_runner.progress.frame import RecentEvent, Screen, closing_frame, frame
from forum_runner.progress.run_display import RunDisplay
from forum_runner.progress.run_view import STOPPING, RunView
from forum_runner.wave_plan.wave_plan_reader import WavePlan

_FRAMES_PER_SECOND = 8
_MAX_EVENTS = 6
_EVENT_KINDS = {"task.finished", "task.lost", "verdict.given", "verdict.lost", "escalation.raised", "task.ended"}
_EVENT_KINDS |= {"budget.stopped", "budget.exceeded", "gate.opened", "gate.decided", "run.repaired"}
# A plan may skip thousands of tasks after one failure, and the failure must stay visible.
_UNREMARKABLE = ("passed", "skipped", "pass", "ok")


class TerminalProgress(RunDisplay):
    """Redraws the display in a separate thread, which holds the lock only while it reads the state."""

    def __init__(
        self, stream: TextIO, *, color: bool, clock: Callable[[], float] = time.monotonic, auto_refresh: bool = True
    ) -> None:
        """Without `auto_refresh`, only `opened`, `draw` and `closed` draw."""
        super().__init__(stream, color=color)
        self._console = Console(
            file=cast("IO[str]", self._outlet),
            force_terminal=True,
            color_system="auto" if color else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._entry_clock = EntryClock(clock)
        self._auto_refresh = auto_refresh
        self._lock = Lock()
        self._live: Live | None = None
        self._wait: tuple[int, str] | None = None
        self._begin("", Path(), None)

    def opened(self, run: str, directory: Path, plan: WavePlan | None) -> None:
        self.closed()
        self._begin(run, directory, plan)
        self._live = Live(
            console=self._console,
            get_renderable=self._frame,
            auto_refresh=self._auto_refresh,
            refresh_per_second=_FRAMES_PER_SECOND,
            # This is standard error; standard output may be a file, and must stay untouched.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def earlier_entries(self, entries: Iterable[ObservedEntry]) -> None:
        for entry in entries:
            with self._lock:
                self._view.apply(*entry)
                self._entry_clock.set(entry[1])

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            applied = self._view.apply(seq, at_us, kind, data)
            self._entry_clock.set(at_us)
            self._wait = None
            if kind in _EVENT_KINDS and _is_remarkable(data):
                state = data.get("state")
                lines = self._view.lines(*applied)
                self._events += (RecentEvent(line, state if isinstance(state, str) else None) for line in lines)

    def waiting(self, until_us: int, reason: str) -> None:
        with self._lock:
            self._wait = (until_us, reason)

    def stopping(self) -> None:
        with self._lock:
            self._events.append(RecentEvent(STOPPING))

    def closed(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            self._is_closing = True
            live.stop()

    def draw(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def _begin(self, run: str, directory: Path, plan: WavePlan | None) -> None:
        self._view = RunView(run, directory, plan)
        self._events: deque[RecentEvent] = deque(maxlen=_MAX_EVENTS)
        self._wait = None
        self._entry_clock.restart()
        self._is_closing = False

    def _frame(self) -> Group:
        size = self._console.size
        screen = Screen(size.width, size.height, self._console.options.ascii_only)
        with self._lock:
            now_us = self._entry_clock.now_us()
            if self._is_closing:
                return Group(*closing_frame(self._view, now_us, screen))
            lines = frame(self._view, now_us, screen, self._events, self._wait_text(now_us))
            # A terminal echoes typed keys, ^C too, at the cursor. After a full row they would start a new row, and the
            # display would redraw the wrong rows.
            return Group(*lines, Text())

    def _wait_text(self, now_us: int) -> str | None:
        if self._wait is None or now_us >= self._wait[0]:
            return None
        return wait_text(self._entry_clock.wait_ms(self._wait[0]), self._wait[1])


def _is_remarkable(data: Mapping[str, Any]) -> bool:
    return not any(data.get(name) in _UNREMARKABLE for name in ("status", "state", "verdict"))
