"""The error for a source that cannot be imported."""

from __future__ import annotations

from forum_runner.errors import UsageError


class SourceError(UsageError):
    """A source cannot be imported; nothing is written."""

    def __init__(self, file: str, place: str, sentence: str) -> None:
        self.file = file
        self.place = place
        self.sentence = sentence
        where = f"{file}, {place}" if place else file
        super().__init__(f"cannot import {where}: {sentence}")
