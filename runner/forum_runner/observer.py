"""How a program watches a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forum_runner.report import Report

if TYPE_CHECKING:
    from forum_runner.wave_plan.wave_plan_reader import WavePlan

# The seq, time, kind and data of an entry, as in `Observer.entry`.
ObservedEntry = tuple[int, int, str, Mapping[str, Any]]


class Observer:
    """Override what you need: every method does nothing by default.

    The run calls these methods in its event loop, so they must not block. Times are in microseconds since 1970. An
    exception stops the run as a crash would; it can be resumed.
    """

    def warnings(self, report: Report) -> None:
        """The workflow has findings that do not prevent the run."""

    def opened(self, run: str, directory: Path, plan: WavePlan) -> None:
        """The ledger is open. Entries follow."""

    def earlier_entries(self, entries: Iterable[ObservedEntry]) -> None:
        """The entries that a resumed run already has, read while you iterate."""

    def resumed(self, sentences: Iterable[str]) -> None:
        """One sentence per task of a resumed run: whether it is kept, continued or repeated."""

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        """An entry has been written."""

    def waiting(self, until_us: int, reason: str) -> None:
        """Nothing happens before this time: a retry or a rate limit waits."""

    def notice(self, sentence: str) -> None:
        """Anything else that a person should know."""

    def stopping(self) -> None:
        """The run is about to pause: it starts nothing more, and cancels open calls."""

    def closed(self) -> None:
        """The run has finished or paused. No entry follows."""
