"""Displays of a run in progress, built from its plan and its entries as they are written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from forum_runner.progress.run_display import RunDisplay

MODES = ("auto", "tty", "plain", "json", "none")


def make_progress(mode: str, stream: TextIO, *, color: bool, environ: Mapping[str, str] = os.environ) -> RunDisplay:
    """Creates the display for a mode. `auto` means `tty` on an interactive terminal, and `plain` elsewhere.

    `none` shows only notices and findings.
    """
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
            return RunDisplay(stream, color=color)
    raise ValueError(f"unknown progress mode '{mode}'; choose one of {', '.join(MODES)}")


def _is_interactive(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")
