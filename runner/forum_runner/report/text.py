"""Findings as text: the location, the message, and the line with a caret below the error."""

from __future__ import annotations

import unicodedata

from forum_runner.document import lines_of
from forum_runner.finding import ManifestFinding, Severity, visible
from forum_runner.report import Report, counted, joined
from forum_runner.report.paint import painted

_WIDTH = 100


def render_text(report: Report, *, color: bool) -> str:
    lines = {name: lines_of(text) for name, text in report.texts.items()}
    blocks = [_block(finding, lines.get(finding.place.file, []), color) for finding in report.findings]
    summary = f"{counted(report.errors, 'error')}, {counted(report.warnings, 'warning')}"
    return joined([*blocks, summary]) if blocks else ""


def _block(finding: ManifestFinding, lines: list[str], color: bool) -> str:
    place = finding.place
    is_warning = finding.severity is Severity.WARNING
    paint = "yellow" if is_warning else "red"
    label = f"warning {finding.code}" if is_warning else finding.code
    where = visible(f"{place.file}:{place.line}:{place.column}:")
    head = f"{painted(where, color, bold=True)} {painted(label, color, fg=paint)} {finding.message}"
    hint = finding.hint or ""
    if place.line > len(lines) or not lines[place.line - 1].strip():
        return f"{head}\n      = {hint}" if hint else head
    window, column, length = _window(lines[place.line - 1], finding)
    caret = painted("^" * length, color, fg=paint)
    below = f"{' ' * column}{caret} {hint}".rstrip()
    return f"{head}\n{place.line:>5} | {window}\n      | {below}"


def _window(line: str, finding: ManifestFinding) -> tuple[str, int, int]:
    """The displayed part of the line, and the caret's column and length in it."""
    start = min(finding.place.column - 1, len(line))
    end = finding.place.end_column - 1 if finding.place.end_line == finding.place.line else len(line)
    first = max(0, start - _WIDTH // 2) if len(line) > _WIDTH else 0
    window = visible(line[first : first + _WIDTH])
    prefix = "..." if first else ""
    suffix = "..." if first + _WIDTH < len(line) else ""
    column = len(prefix) + _width(visible(line[first:start]))
    length = max(1, _width(line[start : min(end, first + _WIDTH)]))
    return prefix + window + suffix, column, length


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
