"""The report files of `forum-conformance test`: checked before the first request, written at the end."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from forum_conformance.commands.exit_codes import UsageError

if TYPE_CHECKING:
    from forum_conformance.results.document import SuiteRun
    from forum_conformance.suite.result import Result

_FILE_OPTIONS = ("jsonl", "junit", "html", "write_xfail")


def refuse_unwritable_reports(arguments: argparse.Namespace) -> None:
    """Fail before the suite runs if a report cannot be written."""
    for name in _FILE_OPTIONS:
        path: Path | None = getattr(arguments, name)
        if path is None:
            continue
        _require_parent(path)
        if path.is_dir():
            raise UsageError(f"cannot write '{path}': it is a directory")
        _require_access(path if path.exists() else path.parent, path)
    if arguments.badges:
        _require_parent(arguments.badges)
        if arguments.badges.exists() and not arguments.badges.is_dir():
            raise UsageError(f"cannot write '{arguments.badges}': it is not a directory")
        _require_access(arguments.badges if arguments.badges.exists() else arguments.badges.parent, arguments.badges)


def _require_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"cannot write '{path}': no such directory: '{path.parent}'")


def _require_access(existing: Path, path: Path) -> None:
    """`existing` is `path` itself or, if it does not exist, its parent."""
    if not os.access(existing, os.W_OK):
        raise UsageError(f"cannot write '{path}': no permission")


def write_reports(
    arguments: argparse.Namespace, results: "list[Result]", suite_run: "SuiteRun", objections: list[str], total: int
) -> None:
    """Write the requested files; badges only if all selected vectors were run.

    `objections` are the reasons for not passing; `total` is the number of selected vectors.
    """
    if arguments.jsonl:
        from forum_conformance.results.document import json_lines

        _write(arguments.jsonl, json_lines(results, suite_run))
    if arguments.junit:
        from forum_conformance.results.junit import results_junit

        _write(arguments.junit, results_junit(results, suite_run))
    if arguments.html:
        from forum_conformance.results.html import results_html

        _write(arguments.html, results_html(results, suite_run, objections, total=total))
    if arguments.badges and len(results) == total:
        from forum_conformance.results.badges import badge_files

        arguments.badges.mkdir(exist_ok=True)
        for name, text in badge_files(results, arguments.level).items():
            _write(arguments.badges / name, text)


def write_expected_failures(path: Path, results: "list[Result]", reasons: dict[str, str]) -> None:
    """List failures with the difference as the reason; keep existing reasons, also for vectors that were not run."""
    from forum_conformance.results.expected_failures import expected_failures_text

    _write(path, expected_failures_text(results, reasons))


def _write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
