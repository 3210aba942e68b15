"""No progress at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Silence:
    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        """Says nothing."""

    def recall(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        """Says nothing."""

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        """Says nothing."""

    def waiting(self, until_us: int, why: str) -> None:
        """Says nothing."""

    def stopping(self) -> None:
        """Says nothing."""

    def close(self) -> None:
        """Says nothing."""
