"""What `forum run` and `forum resume` print on standard error: progress and notices, as text or as JSON events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forum_runner.api import Observer
from forum_runner.commands.failure import describe_failure
from forum_runner.commands.output import discard, say_aside, show_findings, wants_color

if TYPE_CHECKING:
    from forum_runner.app.observer import ObservedEntry
    from forum_runner.app.reuse import ReuseDecision
    from forum_runner.progress import Progress
    from forum_runner.progress.json_lines import JsonProgress
    from forum_runner.report import Report
    from forum_runner.report.run_result import RunResult


class RunConsole(Observer):
    """Observes runs, one after the other, and shows each with its own progress."""

    _progress: Progress

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def _make_progress(self) -> Progress:
        from forum_runner.progress import make_progress

        return make_progress(self._mode, sys.stderr, color=wants_color(sys.stderr))

    def warned(self, report: Report) -> None:
        show_findings(report)

    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        self._progress = self._make_progress()
        self._progress.opened(run, directory, wave_plan)

    def recalled(self, entries: Iterable[ObservedEntry]) -> None:
        if self._mode != "none":
            for entry in entries:
                self._progress.recall(*entry)

    def resumed(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            say_aside(sentence)

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        self._progress.entry(seq, at_us, kind, data)

    def waiting(self, until_us: int, reason: str) -> None:
        self._progress.waiting(until_us, reason)

    def notice(self, sentence: str) -> None:
        say_aside(f"forum: {sentence}")

    def stopping(self) -> None:
        self._progress.stopping()

    def closed(self) -> None:
        self._progress.close()

    def show_reuse(self, decisions: Iterable[ReuseDecision]) -> None:
        """Why the result of each task was reused or not."""
        for decision in decisions:
            say_aside(f"  {decision}")

    def show_repetition(self, number: int, times: int, run: RunResult) -> None:
        """How one of several runs ended."""
        say_aside(f"run {number} of {times}: {run.status}, {run.directory}")

    def showing_errors(self) -> AbstractContextManager[None]:
        """Shows errors that end the command, where the console has its own form for them."""
        return nullcontext()


class JsonConsole(RunConsole):
    """After the first event, everything is an event."""

    def __init__(self, progress: JsonProgress) -> None:
        self._json = progress
        super().__init__("json")

    def _make_progress(self) -> Progress:
        return self._json

    def warned(self, report: Report) -> None:
        from forum_runner.report.check_report import finding_document

        for finding in report.findings:
            self._json.event("finding", finding=finding_document(finding))

    def resumed(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self.notice(sentence)

    def notice(self, sentence: str) -> None:
        self._json.event("notice", text=sentence)

    def show_reuse(self, decisions: Iterable[ReuseDecision]) -> None:
        for decision in decisions:
            fate = "reuse" if decision.is_reused else "run"
            self._json.event("reuse", task=decision.task, fate=fate, reason=decision.reason)

    def show_repetition(self, number: int, times: int, run: RunResult) -> None:
        ended = {"run": run.run, "directory": str(run.directory), "status": run.status}
        self._json.event("repeated", number=number, of=times, **ended)

    @contextmanager
    def showing_errors(self) -> Iterator[None]:
        try:
            yield
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, Exception) as error:
            if not self._json.has_begun:
                raise
            message, code = describe_failure(error)
            self._json.event("error", text=message.removeprefix("forum: "), exit_code=int(code))
            if isinstance(error, OSError):
                discard(sys.stdout)
            raise click.exceptions.Exit(code) from error


def make_run_console(mode: str) -> RunConsole:
    if mode != "json":
        return RunConsole(mode)
    from forum_runner.progress.json_lines import JsonProgress

    return JsonConsole(JsonProgress(sys.stderr))
