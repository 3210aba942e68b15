"""Reads the gates that wait for a decision, with the document that each displays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.read_entry import body_reference, get_object, get_str
from forum_runner.report.amounts import clip
from forum_runner.report.recorded_text import TextReader
from forum_runner.report.run_context import RunContext


@dataclass(frozen=True, slots=True)
class PendingGate:
    """A gate that waits for a decision.

    `displayed` is the document that the person decides about, or None if it cannot be read. `digest` is its digest,
    which the decision records. `question` is one line; if it is sensitive or cannot be read, it appears as in the plan.
    `on_deadline` is the decision that takes effect at the deadline. `is_expired` means that the deadline has passed; a
    caller that knows the time sets it.
    """

    task: str
    seq: int
    digest: str
    question: str
    deadline: str | None
    on_deadline: str | None
    is_sensitive: bool
    displayed: dict[str, Any] | None
    is_expired: bool = False


def read_pending_gates(directory: Path, history: RunHistory, context: RunContext) -> list[PendingGate]:
    """The pending gates of a run, in the order in which they opened."""
    openings = [task.gate.opened for task in history.open_tasks.values() if task.is_waiting and task.gate is not None]
    gates = []
    with TextReader(directory) as reader:
        for opened in sorted((entry for entry in openings if entry is not None), key=lambda entry: entry.seq):
            body, deadline = get_object(opened.bodies, "displayed"), get_str(opened.data, "deadline")
            planned = context.planned_task(opened.task)
            rule = planned.gate if planned is not None else None
            displayed, is_sensitive = _displayed(reader.archive(), body), "salted" in body
            question = None if is_sensitive or displayed is None else get_str(displayed, "question")
            planned_question = context.question_of(rule) if rule is not None else ""
            gates.append(
                PendingGate(
                    str(opened.task),
                    opened.seq,
                    get_str(body, "digest") or "",
                    planned_question if question is None else clip(" ".join(question.split())),
                    deadline,
                    rule.on_deadline if rule is not None and deadline is not None else None,
                    is_sensitive,
                    displayed,
                )
            )
    return gates


def _displayed(archive: BodyReader | None, body: Mapping[str, Any]) -> dict[str, Any] | None:
    if archive is None or get_str(body, "digest") is None:
        return None
    try:
        displayed = orjson.loads(archive.read(body_reference(body)) or b"null")
    except ValueError:
        return None
    return displayed if isinstance(displayed, dict) else None
