"""How often what passed, as GitHub-flavoured Markdown for a step's summary (`GITHUB_STEP_SUMMARY`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forum_runner.report import joined
from forum_runner.report.pass_rates import HEADING, PassRates, next_commands
from forum_runner.report.run_result import RunResult
from forum_runner.report.step_summary import plain, row_line, title_of

# With the tables of these and of their tasks, a summary is well below what GitHub shows.
_MAX_RUNS = 500


def render_step_pass_rates(rates: PassRates) -> str:
    """Where not all runs have room, those that did not pass are kept, and a note says the rest."""
    kept = _chosen(rates.runs)
    lines = [f"### {plain(title_of(rates.runs[0]))}", "", plain(rates.headline), ""]
    lines += [*_tasks(rates), ""]
    lines += [row_line(("run", "status", "head")), row_line(["---"] * 3)]
    lines += (row_line((plain(str(run.directory)), plain(run.status), f"<code>{run.head}</code>")) for run in kept)
    if left := len(rates.runs) - len(kept):
        lines += ["", f"And {left:,} more, for which there is no room here."]
    lines += ["", *(f"- {name}: {plain(words)}" for name, words in rates.spent), ""]
    return joined([*lines, "```sh", *(line for _, line in next_commands(kept)), "```"])


def _chosen(runs: Sequence[RunResult]) -> list[RunResult]:
    """In their order."""
    ranked = sorted(range(len(runs)), key=lambda index: runs[index].status == "passed")
    return [runs[index] for index in sorted(ranked[:_MAX_RUNS])]


def _tasks(rates: PassRates) -> Iterator[str]:
    """Columns that say nothing are left out, as on a terminal."""
    rows, note = rates.rows()
    columns = [index for index in range(len(HEADING)) if any(row[index] for row in rows)]
    if columns:
        yield row_line(HEADING[index] for index in columns)
        yield row_line("---" for _ in columns)
        yield from (row_line(plain(row[index]) for index in columns) for row in rows)
    if note:
        yield f"\n{note.capitalize()}."
