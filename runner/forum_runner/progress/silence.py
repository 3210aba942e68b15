"""No progress display."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Silence:
    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any]) -> None:
        """Displays nothing."""

    def recall(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        """Displays nothing."""

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> None:
        """Displays nothing."""

    def waiting(self, until_us: int, why: str) -> None:
        """Displays nothing."""

    def stopping(self) -> None:
        """Displays nothing."""

    def close(self) -> None:
        """Displays nothing."""
