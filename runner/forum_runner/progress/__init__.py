"""Displays of a running run, made from the ledger's entries as they are written and from nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

MODES = ("auto", "tty", "plain", "json", "none")


class Progress(Protocol):
    def opened(self, run: str, directory: Path, wave_plan: Mapping[str, Any], /) -> None:
        """Called before the first entry."""

    def recall(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any], /) -> None:
        """Called for each entry of an earlier process, if the run is resumed: it counts, but is not displayed."""

    def entry(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any], /) -> None:
        """Called for each entry after it is written."""

    def waiting(self, until_us: int, why: str, /) -> None:
        """The run has nothing to do before a time, on the clock of the entries."""

    def stopping(self) -> None:
        """The run was asked to stop: nothing more starts, and open calls are cancelled."""

    def close(self) -> None:
        """Called after the last entry, or when the run ends otherwise. It may be called twice."""


def make_progress(mode: str, stream: TextIO, *, color: bool, environ: Mapping[str, str] = os.environ) -> Progress:
    """`auto` means `tty` on an interactive terminal, and `plain` elsewhere."""
    if mode == "auto":
        mode = "tty" if _is_interactive(stream, environ) else "plain"
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
    raise ValueError(f"unknown progress mode '{mode}'; choose one of {', '.join(MODES)}")


def _is_interactive(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")
