"""What is seen of a run while it goes on: the ledger's entries as they are written, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

MODES = ("auto", "tty", "plain", "json", "none")


class Progress(Protocol):
    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any], /) -> None:
        """Before the first entry."""

    def recall(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any], /) -> None:
        """An entry that an earlier process wrote, of a run that is resumed: it counts, and is not told again."""

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any], /) -> None:
        """Each entry, after it was written."""

    def waiting(self, until_us: int, why: str, /) -> None:
        """There is nothing to do before a time, on the clock of the entries."""

    def stopping(self) -> None:
        """Somebody asked the run to stop: nothing more begins, and what is under way is ended."""

    def close(self) -> None:
        """After the last entry, and when the run ends otherwise; a second time does no harm."""


def make_progress(mode: str, stream: TextIO, *, color: bool, environ: Mapping[str, str] = os.environ) -> Progress:
    """`auto` is `tty` where somebody watches, and `plain` where lines are kept."""
    if mode == "auto":
        mode = "tty" if _is_watched(stream, environ) else "plain"
    match mode:
        case "tty":
            from forum_runner.progress.terminal import TerminalProgress

            return TerminalProgress(stream, color=color)
        case "plain":
            from forum_runner.progress.plain import PlainProgress

            return PlainProgress(stream, color=color)
        case "json":
            from forum_runner.progress.json_lines import JsonProgress

            return JsonProgress(stream)
        case "none":
            from forum_runner.progress.silence import Silence

            return Silence()
    raise ValueError(f"there is no progress '{mode}', only {', '.join(MODES)}")


def _is_watched(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")
