"""Why tasks failed: the last error or verdict of each, with the first line of its message."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.body import JSON
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry, amount, body_reference, part, text
from forum_runner.report.amounts import clip
from forum_runner.report.entry_text import failure_text
from forum_runner.report.task_table import by_severity

_MAX_DETAILS = 200
_MAX_DETAIL_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class TaskFailure:
    kind: str
    detail: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def read_failures(directory: Path, history: RunHistory) -> dict[str, TaskFailure]:
    """By task, the most severe first. Details come from the bodies, as far as they exist and are not sensitive."""
    failed = [
        (task.id, task.failure)
        for task in by_severity(history.tasks.values())
        if task.failure is not None and _is_reported(task, task.failure)
    ]
    if not failed:
        return {}
    entries = [entry for _, entry in failed[:_MAX_DETAILS]]
    details = _details(directory / BODIES, entries, history.redacted_digests)
    return {task: TaskFailure(failure_text(entry), next(details, None)) for task, entry in failed}


def _is_reported(task: TaskHistory, failure: ReadEntry) -> bool:
    return task.state not in ("passed", "running") and failure.data.get("status") != "cancelled"


def _details(path: Path, entries: Iterable[ReadEntry], redacted: Container[str | None]) -> Iterator[str | None]:
    try:
        stream = path.open("rb")
    except OSError:
        return
    with stream:
        reader = BodyReader(stream)
        for entry in entries:
            yield _detail(reader, entry, redacted)


def _detail(reader: BodyReader, entry: ReadEntry, redacted: Container[str | None]) -> str | None:
    """For a program that exited by itself, its own last words; they do not explain why a program was killed."""
    last = _line(reader, part(entry.bodies, "stderr"), redacted, is_last=True)
    if last and text(entry.data, "error") == "exit_status":
        return last
    first = _line(reader, part(entry.bodies, "detail") or part(entry.bodies, "reason"), redacted, is_last=False)
    return f"{first}; stderr: {last}" if first and last else first or last


def _line(reader: BodyReader, body: Mapping[str, Any], redacted: Container[str | None], *, is_last: bool) -> str | None:
    """The first or the last line of a text; None if the body is salted, because a log must not repeat it."""
    digest = text(body, "digest")
    if digest is None or digest in redacted or "salted" in body or amount(body, "bytes") > _MAX_DETAIL_BYTES:
        return None
    data = reader.read(body_reference(body)) or b""
    content = data.decode(errors="replace") if text(body, "type") != JSON else _message(data)
    lines = content.strip().splitlines()
    return clip(lines[-1 if is_last else 0].strip()) if lines else None


def _message(data: bytes) -> str:
    try:
        value = orjson.loads(data)
    except ValueError:
        return ""
    return (text(value, "message") or "") if isinstance(value, dict) else ""
