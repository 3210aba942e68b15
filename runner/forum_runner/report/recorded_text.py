"""Texts from the bodies of a run that a report may show: reasons of decisions, details of failures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.archive import REDACTED
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry, body_reference, part, text
from forum_runner.report.amounts import clip

_MAX_BYTES = 1_000_000


class TextState(StrEnum):
    """`unread`: the body is missing, as it is for a bare ledger, or too long."""

    GIVEN = "given"
    SENSITIVE = "sensitive"
    REDACTED = "redacted"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class RecordedText:
    """`text` is set only if the text is `given`: logs must not repeat what the record treats as sensitive."""

    state: TextState = TextState.UNREAD
    text: str | None = None

    @property
    def as_reason(self) -> str:
        """The reason of a decision in one line. Only what the person wrote follows a colon."""
        if self.text is None:
            return f"its reason is {'not available' if self.state is TextState.UNREAD else self.state}"
        written = " ".join(self.text.split())
        return f"reason: {clip(written)}" if written else "its reason is empty"


class TextReader:
    """Opens the archive on first use. Without a `directory`, it reads nothing."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._reader: BodyReader | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def reason_of(self, entry: ReadEntry) -> RecordedText | None:
        """None for an entry that is not a decision or has no reason."""
        body = part(entry.bodies, "reason") if entry.kind == "gate.decided" else {}
        return self.read(body) if body else None

    def read(self, body: Mapping[str, Any], redacted: Collection[str | None] = ()) -> RecordedText:
        """`redacted` are digests that the ledger records as redacted: their bytes may still exist for a moment."""
        digest, reader = text(body, "digest"), self._archive()
        if digest in redacted:
            return RecordedText(TextState.REDACTED)
        if digest is None or reader is None:
            return RecordedText(TextState.SENSITIVE if "salted" in body else TextState.UNREAD)
        if reader.place(f"{REDACTED}/{digest}") is not None:
            return RecordedText(TextState.REDACTED)
        if "salted" in body:
            return RecordedText(TextState.SENSITIVE)
        reference = body_reference(body)
        data = reader.read(reference) if reference.bytes <= _MAX_BYTES else None
        return RecordedText() if data is None else RecordedText(TextState.GIVEN, data.decode(errors="replace"))

    def _archive(self) -> BodyReader | None:
        if self._reader is None and self._directory is not None:
            try:
                self._reader = BodyReader(self._opened.enter_context((self._directory / BODIES).open("rb")))
            except OSError:
                return None
        return self._reader


def read_reasons(directory: Path | None, history: RunHistory) -> dict[str, RecordedText]:
    """By the task whose gate was decided."""
    decisions = {
        name: task.gate.decision
        for name, task in history.tasks.items()
        if task.gate is not None and task.gate.decision is not None
    }
    with TextReader(directory) as reader:
        return {
            name: reader.read(decision.reason, history.redacted_digests)
            for name, decision in decisions.items()
            if decision.reason is not None
        }
