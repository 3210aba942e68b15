"""A scripted adapter that first writes the id of each attempt to a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forum_adapters.base import Attempt, Reply
from forum_adapters.scripted import ScriptedAdapter


class JournalAdapter(ScriptedAdapter):
    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, settings)
        self._journal = Path(settings["journal"])

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        with self._journal.open("a", encoding="utf-8") as lines:
            lines.write(f"{attempt.id}\n")
        return super().predict(attempt)
