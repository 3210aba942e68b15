"""The base class of progress displays. It prints notices and findings; subclasses also show entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from forum_runner.observer import Observer
from forum_runner.progress.outlet import Outlet
from forum_runner.report import Report
from forum_runner.report.finding_formats import render_text


class RunDisplay(Observer):
    def __init__(self, stream: TextIO, *, color: bool = False) -> None:
        self._outlet = Outlet(stream)
        self._color = color

    def event(self, _name: str, sentence: str, /, **_facts: Any) -> None:
        """Shows an event that is not an entry: a sentence for people, a name and facts for programs."""
        self._outlet.write(f"{sentence}\n")

    def warnings(self, report: Report) -> None:
        self._outlet.write(render_text(report, color=self._color))

    def notice(self, sentence: str) -> None:
        self.event("notice", f"forum: {sentence}", text=sentence)

    def resumed(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self.event("notice", sentence, text=sentence)
