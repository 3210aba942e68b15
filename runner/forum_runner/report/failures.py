"""Why tasks failed: each task's last error or verdict, with one line of detail."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.body import JSON
from forum_runner.ledger.read_entry import ReadEntry, get_object, get_str
from forum_runner.report.amounts import clip
from forum_runner.report.entry_text import failure_text
from forum_runner.report.recorded_text import TextReader
from forum_runner.report.task_table import sorted_by_severity

_MAX_DETAILS = 200


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """Why a task failed: the kind of its last error or verdict, and one line of detail."""

    kind: str
    detail: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def read_failures(directory: Path, history: RunHistory) -> dict[str, TaskFailure]:
    """Reads why each task failed, by task id, the most severe state first.

    Only the first `_MAX_DETAILS` tasks have a detail. Sensitive bodies are never read.
    """
    failed = [
        (task.id, task.failure)
        for task in sorted_by_severity(history.tasks.values())
        if task.failure is not None and _is_reported(task, task.failure)
    ]
    redacted = history.redacted_digests
    with TextReader(directory) as reader:
        details = {task: _detail(reader, entry, redacted) for task, entry in failed[:_MAX_DETAILS]}
    return {task: TaskFailure(failure_text(entry), details.get(task)) for task, entry in failed}


def failure_lines(failures: Mapping[str, TaskFailure]) -> list[str]:
    """One line per failed task: `draft: timeout: the answer was incomplete after 60000 ms`."""
    return [f"{clip(task, 80)}: {failure}" for task, failure in failures.items()]


def _is_reported(task: TaskHistory, failure: ReadEntry) -> bool:
    return task.state not in ("passed", "running") and failure.data.get("status") != "cancelled"


def _detail(reader: TextReader, entry: ReadEntry, redacted: Collection[str | None]) -> str | None:
    """The detail of a failure: the last line of stderr if a program exited by itself, otherwise the recorded reason.

    The stderr of a program that forum or a signal ended does not explain why, so it is appended to the reason.
    """
    last = _line(reader, get_object(entry.bodies, "stderr"), redacted, take_last=True)
    if last and get_str(entry.data, "error") == "exit_status" and not _was_killed(entry):
        return last
    first = _line(
        reader, get_object(entry.bodies, "detail") or get_object(entry.bodies, "reason"), redacted, take_last=False
    )
    return f"{first}; stderr: {last}" if first and last else first or last


def _line(
    reader: TextReader, body: Mapping[str, Any], redacted: Collection[str | None], *, take_last: bool
) -> str | None:
    """The first or the last line of a text.

    None if there is no text to show: it is empty, missing, sensitive, redacted or too long.
    """
    content = reader.read(body, redacted).text or ""
    lines = (_message(content) if get_str(body, "type") == JSON else content).strip().splitlines()
    return clip(lines[-1 if take_last else 0].strip()) if lines else None


def _was_killed(entry: ReadEntry) -> bool:
    """Whether a signal ended the program: its exit status is then negative."""
    status = entry.data.get("exit_status")
    return type(status) is int and status < 0


def _message(document: str) -> str:
    try:
        value = orjson.loads(document)
    except ValueError:
        return ""
    return (get_str(value, "message") or "") if isinstance(value, dict) else ""
