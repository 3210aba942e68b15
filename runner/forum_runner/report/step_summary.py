"""The result of a run as GitHub-flavored Markdown, for the summary of a step (`GITHUB_STEP_SUMMARY`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from forum_runner.finding import visible
from forum_runner.history.task_history import TaskHistory
from forum_runner.report import join_lines
from forum_runner.report.amounts import clip
from forum_runner.report.failures import failure_lines
from forum_runner.report.next_commands import command_line, gate_commands, verify_command
from forum_runner.report.run_result import RunResult
from forum_runner.report.run_result_text import headline, spent_text
from forum_runner.report.table import filled_columns
from forum_runner.report.task_table import (
    HEADING,
    NOT_STARTED,
    RIGHT_ALIGNED,
    TRUNCATED_TITLE,
    budget_lines,
    sorted_by_severity,
    task_row,
    truncated_lines,
)

# GitHub does not display larger summaries. Other commands of the step may write to the same file.
_MAX_FILE_BYTES = 1024 * 1024
MAX_BYTES = 900 * 1024
# The room for the note about omitted tasks: its text and the digits of their number.
_NOTE_BYTES = 50
_MAX_LISTED = 50
# Everything that could start markup, a link, a mention, an emoji, a formula or a cell is written as an entity.
_MARKUP = re.compile(r"[&<>\"'`|\\*_\[\]~@#$]|:(?=\S)|(?<=www)[.]", re.IGNORECASE)


def render_step_summary(result: RunResult) -> str:
    """Renders at most `MAX_BYTES`. Without room for all tasks, lists the most severe ones and counts the others."""
    header = [f"### {escape_markdown(title_of(result))}", "", escape_markdown(headline(result)), ""]
    not_started = result.counts[NOT_STARTED]
    footer = ["", *([f"And {not_started:,} {NOT_STARTED}.", ""] if not_started else []), *_sections(result)]
    room = MAX_BYTES - sum(len(line.encode()) + 1 for line in [*header, *footer])
    return join_lines([*header, *_table(list(result.history.tasks.values()), room), *footer])


def append_step_summary(path: Path, summary: str) -> str | None:
    """Appends the summary to a file. Returns an error message or None: the run must not fail because of its summary."""
    data = summary.encode(errors="backslashreplace")
    try:
        with path.open("ab") as stream:
            if stream.tell() + len(data) > _MAX_FILE_BYTES:
                return f"'{path}' would exceed {_MAX_FILE_BYTES:,} bytes, and GitHub would not show it"
            stream.write(data)
    except OSError as error:
        return f"cannot write '{path}': {error.strerror}"
    return None


def escape_markdown(text: str) -> str:
    """One line of text that Markdown does not interpret."""
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", visible(" ".join(text.split())))


def title_of(result: RunResult) -> str:
    return f"forum: {result.context.name or f'run {result.history.run}'}"


def _table(tasks: Sequence[TaskHistory], room: int) -> Iterator[str]:
    head_and_rows = markdown_table([HEADING, *map(task_row, tasks)], RIGHT_ALIGNED)
    head, lines = head_and_rows[:2], dict(zip((task.id for task in tasks), head_and_rows[2:], strict=True))
    room -= sum(len(line.encode()) + 1 for line in head) + _NOTE_BYTES
    selected = set()
    for task in sorted_by_severity(tasks):
        room -= len(lines[task.id].encode()) + 1
        if room < 0:
            break
        selected.add(task.id)
    yield from head
    yield from (line for task, line in lines.items() if task in selected)
    if len(selected) < len(lines):
        yield f"\nAnd {len(lines) - len(selected):,} more, omitted here."


def markdown_table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """The lines of a table: the heading (the first of the rows), the alignment, and the others. Omits empty columns."""
    columns = filled_columns(rows)
    heading, *lines = (row_line(escape_markdown(row[index]) for index in columns) for row in rows)
    alignment = row_line("--:" if index in right else "---" for index in columns)
    return [heading, alignment, *lines] if columns else []


def row_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sections(result: RunResult) -> Iterator[str]:
    gates = [f"{clip(gate.task, 80)} is waiting for a decision: {clip(gate.question)}" for gate in result.gates]
    truncated = [f"{TRUNCATED_TITLE}: {line}" for line in truncated_lines(result.history)]
    for lines in (failure_lines(result.failures), truncated, budget_lines(result.history), gates):
        yield from (f"- {escape_markdown(line)}" for line in lines[:_MAX_LISTED])
        if len(lines) > _MAX_LISTED:
            yield f"- and {len(lines) - _MAX_LISTED:,} more"
        if lines:
            yield ""
    yield f"Spent: {escape_markdown(spent_text(result))}"
    yield ""
    yield f"Head of the ledger: <code>{result.history.head}</code>"
    yield ""
    yield "```sh"
    yield verify_command(result.directory, result.history.head)
    if result.is_resumable:
        for gate in result.gates[:_MAX_LISTED]:
            yield from gate_commands(result.run_argument, gate.task)
        yield command_line("resume", result.run_argument)
    yield "```"
