"""Pass rates as GitHub-flavored Markdown, for the summary of a step (`GITHUB_STEP_SUMMARY`)."""

from __future__ import annotations

from collections.abc import Sequence

from forum_runner.report import join_lines
from forum_runner.report.pass_rates import HEADING, PassRates, labeled_commands
from forum_runner.report.run_result import RunResult
from forum_runner.report.step_summary import escape_markdown, markdown_table, row_line, title_of

# With this many runs and their tasks, a summary stays well below GitHub's size limit.
_MAX_RUNS = 500


def render_step_pass_rates(rates: PassRates) -> str:
    """Lists at most `_MAX_RUNS` runs, preferably those that did not pass, and counts the others."""
    selected = _select(rates.runs)
    lines = [f"### {escape_markdown(title_of(rates.runs[0]))}", "", escape_markdown(rates.headline), ""]
    lines += [*_tasks(rates), ""]
    lines += [row_line(("run", "status", "head")), row_line(["---"] * 3)]
    lines += (
        row_line((escape_markdown(str(run.directory)), escape_markdown(run.status), f"<code>{run.history.head}</code>"))
        for run in selected
    )
    if omitted := len(rates.runs) - len(selected):
        lines += ["", f"And {omitted:,} more, omitted here."]
    lines += ["", *(f"- {name}: {escape_markdown(words)}" for name, words in rates.totals), ""]
    return join_lines([*lines, "```sh", *(line for _, line in labeled_commands(selected)), "```"])


def _select(runs: Sequence[RunResult]) -> list[RunResult]:
    """The runs to list, in their original order."""
    ranked = sorted(range(len(runs)), key=lambda index: runs[index].status == "passed")
    return [runs[index] for index in sorted(ranked[:_MAX_RUNS])]


def _tasks(rates: PassRates) -> list[str]:
    rows, note = rates.rows()
    return markdown_table([HEADING, *rows]) + ([f"\n{note.capitalize()}."] if note else [])
