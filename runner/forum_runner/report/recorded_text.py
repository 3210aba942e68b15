"""Reads texts that a report may show from the bodies of a run: reasons of decisions, details of failures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.archive import REDACTED
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry, body_reference, get_object, get_str
from forum_runner.report.amounts import clip

_MAX_BYTES = 1_000_000


class TextState(StrEnum):
    """Whether a text is available. `unread`: its body is too long, or missing, as it is without the run directory."""

    GIVEN = "given"
    SENSITIVE = "sensitive"
    REDACTED = "redacted"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class RecordedText:
    """A text from a body. `text` is set only if the state is `given`: logs must not repeat sensitive texts."""

    state: TextState = TextState.UNREAD
    text: str | None = None

    @property
    def as_reason(self) -> str:
        """The reason of a decision in one line. Only the person's own words follow a colon."""
        if self.text is None:
            return f"its reason is {'not available' if self.state is TextState.UNREAD else self.state}"
        written = " ".join(self.text.split())
        return f"reason: {clip(written)}" if written else "its reason is empty"


class TextReader:
    """Reads texts from a run's archive. Without a `directory`, it only knows which are sensitive or redacted."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._archive: BodyReader | None = None
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def reason_of(self, entry: ReadEntry) -> RecordedText | None:
        """The reason of a decision; None for other entries and for decisions without a reason."""
        body = get_object(entry.bodies, "reason") if entry.kind == "gate.decided" else {}
        return self.read(body) if body else None

    def read(self, body: Mapping[str, Any], redacted: Collection[str | None] = ()) -> RecordedText:
        """Reads the text of a body. `redacted` has digests of redacted bodies, whose bytes may still exist briefly."""
        digest, archive = get_str(body, "digest"), self.archive()
        if digest in redacted:
            return RecordedText(TextState.REDACTED)
        if digest is None or archive is None:
            return RecordedText(TextState.SENSITIVE if "salted" in body else TextState.UNREAD)
        if archive.locate(f"{REDACTED}/{digest}") is not None:
            return RecordedText(TextState.REDACTED)
        if "salted" in body:
            return RecordedText(TextState.SENSITIVE)
        reference = body_reference(body)
        data = archive.read(reference) if reference.bytes <= _MAX_BYTES else None
        return RecordedText() if data is None else RecordedText(TextState.GIVEN, data.decode(errors="replace"))

    def archive(self) -> BodyReader | None:
        """The archive, opened on first use; None if it cannot be opened."""
        if self._archive is None and self._directory is not None:
            with suppress(OSError):
                self._archive = BodyReader(self._files.enter_context((self._directory / BODIES).open("rb")))
        return self._archive


def read_reasons(directory: Path | None, history: RunHistory) -> dict[str, RecordedText]:
    """Reads the reasons of gate decisions, by task."""
    decisions = {name: task.gate.decision for name, task in history.tasks.items() if task.gate is not None}
    with TextReader(directory) as reader:
        return {
            name: reader.read(decision.reason, history.redacted_digests)
            for name, decision in decisions.items()
            if decision is not None and decision.reason is not None
        }
