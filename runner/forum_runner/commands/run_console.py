"""What is said beside a run, on standard error: sentences for people or, with `--progress json`, events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

import click

from forum_runner.commands.failure import describe_failure
from forum_runner.commands.output import discard, say_aside, show_findings, wants_color

if TYPE_CHECKING:
    from forum_runner.app.reuse import ReuseDecision
    from forum_runner.progress import Progress
    from forum_runner.progress.json_lines import JsonProgress
    from forum_runner.report import Report
    from forum_runner.report.run_result import RunResult


class RunConsole(Protocol):
    def make_progress(self) -> Progress:
        """What shows the entries of a run, on the same stream."""

    def warn(self, report: Report, /) -> None:
        """Findings that do not keep a run from beginning."""

    def tell_reuse(self, decisions: Iterable[ReuseDecision], /) -> None:
        """Why the result of each task that was looked at is reused or not."""

    def tell_repetition(self, number: int, times: int, run: RunResult, /) -> None:
        """How one run of several ended."""

    def tell_fate(self, sentence: str, /) -> None:
        """What a run that is taken up again makes of a task."""

    def notice(self, sentence: str, /) -> None:
        """Whatever else a person should know."""

    def telling_errors(self) -> AbstractContextManager[None]:
        """Says what ends the command otherwise than by its result, if it is not to be said as everywhere."""


def make_run_console(mode: str) -> RunConsole:
    if mode != "json":
        return TextConsole(mode)
    from forum_runner.progress.json_lines import JsonProgress

    return JsonConsole(JsonProgress(sys.stderr))


class TextConsole:
    def __init__(self, mode: str) -> None:
        self._mode = mode

    def make_progress(self) -> Progress:
        from forum_runner.progress import make_progress

        return make_progress(self._mode, sys.stderr, color=wants_color(sys.stderr))

    def warn(self, report: Report) -> None:
        if report.findings:
            show_findings(report)

    def tell_reuse(self, decisions: Iterable[ReuseDecision]) -> None:
        for decision in decisions:
            say_aside(f"  {decision}")

    def tell_repetition(self, number: int, times: int, run: RunResult) -> None:
        say_aside(f"run {number} of {times}: {run.status}, {run.directory}")

    def tell_fate(self, sentence: str) -> None:
        say_aside(sentence)

    def notice(self, sentence: str) -> None:
        say_aside(f"forum: {sentence}")

    def telling_errors(self) -> AbstractContextManager[None]:
        return nullcontext()


class JsonConsole:
    """After the first event everything is one, to the end of the command."""

    def __init__(self, progress: JsonProgress) -> None:
        self._progress = progress

    def make_progress(self) -> Progress:
        return self._progress

    def warn(self, report: Report) -> None:
        from forum_runner.report.check_report import finding_form

        for finding in report.findings:
            self._progress.event("finding", finding=finding_form(finding))

    def tell_reuse(self, decisions: Iterable[ReuseDecision]) -> None:
        for decision in decisions:
            fate = "reuse" if decision.is_reused else "run"
            self._progress.event("reuse", task=decision.task, fate=fate, ground=decision.ground)

    def tell_repetition(self, number: int, times: int, run: RunResult) -> None:
        ended = {"run": run.run, "directory": str(run.directory), "status": run.status}
        self._progress.event("repeated", number=number, of=times, **ended)

    def tell_fate(self, sentence: str) -> None:
        self.notice(sentence)

    def notice(self, sentence: str) -> None:
        self._progress.event("notice", text=sentence)

    @contextmanager
    def telling_errors(self) -> Iterator[None]:
        try:
            yield
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, Exception) as error:
            if not self._progress.has_begun:
                raise
            said, code = describe_failure(error)
            self._progress.event("error", text=said.removeprefix("forum: "), exit_code=int(code))
            if isinstance(error, OSError):
                discard(sys.stdout)
            raise click.exceptions.Exit(code) from error
