"""What a run came to, as GitHub-flavoured Markdown for a step's summary (`GITHUB_STEP_SUMMARY`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from forum_runner.finding import visible
from forum_runner.ledger.read_entry import part, text
from forum_runner.ledger.summary import TaskStory
from forum_runner.report import joined
from forum_runner.report.amounts import shown
from forum_runner.report.budget_words import stop_words
from forum_runner.report.cut_words import CUT_TITLE, cut_lines
from forum_runner.report.run_commands import command_line, gate_lines, verify_line
from forum_runner.report.run_result import RunResult, by_severity
from forum_runner.report.run_result_text import HEADING, RIGHT, headline, row, spent_words

MAX_BYTES = 900 * 1024
# What a step may write in all; GitHub shows nothing of a summary that is larger.
_MAX_FILE_BYTES = 1024 * 1024
_MAX_LISTED = 50
# All that could begin markup, a link, a mention, an emoji, a formula or a cell. As entities they are only themselves.
_MARKUP = re.compile(r"[&<>\"'`|\\*_\[\]~@#$]|:(?=\S)|(?<=www)[.]", re.IGNORECASE)


def render_step_summary(result: RunResult) -> str:
    """At most `MAX_BYTES`: where not all tasks have room, those that went wrong are kept, and a note says the rest."""
    before = [f"### {plain(title_of(result))}", "", plain(headline(result)), ""]
    not_begun = result.counts["not begun"]
    after = ["", *([f"And {not_begun:,} not begun.", ""] if not_begun else []), *_sections(result)]
    room = MAX_BYTES - sum(len(line.encode()) + 1 for line in [*before, *after])
    return joined([*before, *_table(list(result.summary.tasks.values()), room), *after])


def append_step_summary(path: Path, summary: str) -> str | None:
    """Why it could not be appended, or None. A run does not fail for it."""
    data = summary.encode(errors="backslashreplace")
    try:
        with path.open("ab") as stream:
            if stream.tell() + len(data) > _MAX_FILE_BYTES:
                return f"'{path}' would have more than {_MAX_FILE_BYTES:,} bytes, and GitHub would show none of them"
            stream.write(data)
    except OSError as error:
        return f"cannot write '{path}': {error.strerror}"
    return None


def plain(told: str) -> str:
    """Text that means nothing to Markdown, in one line."""
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", visible(" ".join(told.split())))


def title_of(result: RunResult) -> str:
    name = text(part(result.plan, "metadata"), "name")
    return f"forum: {name}" if name else f"forum: run {result.run}"


def _table(stories: Sequence[TaskStory], room: int) -> Iterator[str]:
    """Columns that say nothing are left out, as on a terminal."""
    rows = [row(story) for story in stories]
    columns = [index for index in range(len(HEADING)) if any(cells[index] for cells in rows)]
    if not columns:
        return
    note = "\nAnd {:,} more, for which there is no room here."
    head = [
        row_line(HEADING[index] for index in columns),
        row_line("--:" if index in RIGHT else "---" for index in columns),
    ]
    written = {
        story.id: row_line(plain(cells[index]) for index in columns) for story, cells in zip(stories, rows, strict=True)
    }
    room -= sum(len(line.encode()) + 1 for line in head) + len(note) + 20
    kept = set()
    for story in by_severity(stories):
        room -= len(written[story.id].encode()) + 1
        if room < 0:
            break
        kept.add(story.id)
    yield from head
    yield from (line for task, line in written.items() if task in kept)
    if len(kept) < len(written):
        yield note.format(len(written) - len(kept))


def row_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sections(result: RunResult) -> Iterator[str]:
    failures = [f"{shown(task, 80)}: {failure}" for task, failure in result.failures.items()]
    stopped = [entry for entry in result.summary.budget if entry.kind == "budget.stopped"]
    stops = [f"stopped by {stop_words(entry.data)}" for entry in stopped]
    waits = [f"{shown(gate.task, 80)} waits for a decision: {shown(gate.question)}" for gate in result.gates]
    cuts = [f"{CUT_TITLE}: {line}" for line in cut_lines(result.summary)]
    for lines in (failures, cuts, stops, waits):
        yield from (f"- {plain(line)}" for line in lines[:_MAX_LISTED])
        if len(lines) > _MAX_LISTED:
            yield f"- and {len(lines) - _MAX_LISTED:,} more"
        if lines:
            yield ""
    yield f"Spent: {plain(spent_words(result))}"
    yield ""
    yield f"Head of the ledger: <code>{result.head}</code>"
    yield ""
    yield "```sh"
    yield verify_line(result.directory, result.head)
    if result.can_go_on:
        for gate in result.gates[:_MAX_LISTED]:
            yield from gate_lines(result.argument, gate.task)
        yield command_line("resume", result.argument)
    yield "```"
