"""Why a person decided as they did, read from the bodies of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from forum_runner.ledger.archive import REDACTED
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry, amount, part, text
from forum_runner.ledger.summary import Summary
from forum_runner.report.amounts import shown

_MAX_BYTES = 1_000_000


class ReasonState(StrEnum):
    """`unread` is one that is not there to be read, beside a bare ledger say, or is too long for that."""

    GIVEN = "given"
    SENSITIVE = "sensitive"
    REDACTED = "redacted"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Reason:
    """`text` is there if it is `given`: what is sensitive in the record is not to be found in a log."""

    state: ReasonState = ReasonState.UNREAD
    text: str | None = None

    @property
    def words(self) -> str:
        """In one line, as short as other texts of a ledger. After a colon stands what the person said, and no other."""
        if self.text is None:
            return f"its reason is {'not read here' if self.state is ReasonState.UNREAD else self.state}"
        said = " ".join(self.text.split())
        return f"reason: {shown(said)}" if said else "its reason is empty"


class ReasonReader:
    """Opens the archive when it is needed first. Without a `directory` there is nothing to be read."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._reader: BodyReader | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def of(self, entry: ReadEntry) -> Reason | None:
        """None for an entry that is no decision, or gives no reason."""
        body = part(entry.bodies, "reason") if entry.kind == "gate.decided" else {}
        return self.read(body) if body else None

    def read(self, body: Mapping[str, Any], redacted: Collection[str | None] = ()) -> Reason:
        """`redacted` are the digests that are recorded as such: their bytes may still be there for a moment."""
        digest, reader = text(body, "digest"), self._archive()
        if digest in redacted:
            return Reason(ReasonState.REDACTED)
        if digest is None or reader is None:
            return Reason(ReasonState.SENSITIVE if "salted" in body else ReasonState.UNREAD)
        if reader.place(f"{REDACTED}/{digest}") is not None:
            return Reason(ReasonState.REDACTED)
        if "salted" in body:
            return Reason(ReasonState.SENSITIVE)
        size = amount(body, "bytes")
        data = reader.read({"digest": digest, "bytes": size}) if size <= _MAX_BYTES else None
        return Reason() if data is None else Reason(ReasonState.GIVEN, data.decode(errors="replace"))

    def _archive(self) -> BodyReader | None:
        if self._reader is None and self._directory is not None:
            try:
                self._reader = BodyReader(self._opened.enter_context((self._directory / BODIES).open("rb")))
            except OSError:
                return None
        return self._reader


def read_reasons(directory: Path | None, summary: Summary) -> dict[str, Reason]:
    """By the task whose gate was decided."""
    redacted = {text(entry.data, "digest") for entry in summary.redactions}
    with ReasonReader(directory) as reader:
        return {
            name: reader.read(story.gate.reason, redacted)
            for name, story in summary.tasks.items()
            if story.gate is not None and story.gate.reason is not None
        }
