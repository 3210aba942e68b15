"""Which format a source has, by its name and by how it begins."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from forum_runner.errors import UsageError
from forum_runner.importing.forum_engine import ENTRIES
from forum_runner.importing.otel import SIGNALS
from forum_runner.importing.parsed_source import ImportFormat
from forum_runner.importing.symposium import ARTIFACT, TRANSCRIPT
from forum_runner.ledger.layout import LEDGER

_PART = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_OF_AN_ENGINE = frozenset({"entry_hash", "payload_hash", "prev_hash"})
_OURS = frozenset({"run", "prev", "causes", "bodies"})
_KNOWN = "forum-engine's entries.jsonl, an artifact of symposium, OTLP JSON"


@dataclass(frozen=True, slots=True)
class DetectedFormat:
    format: ImportFormat
    is_lines: bool


def file_in(folder: Path, format_: ImportFormat | None) -> Path:
    """The file that a folder is imported from."""
    names = {ImportFormat.FORUM_ENGINE: ENTRIES, ImportFormat.SYMPOSIUM: ARTIFACT}
    wanted = [names[format_]] if format_ in names else list(names.values())
    for name in wanted:
        if (folder / name).is_file():
            return folder / name
    if (folder / LEDGER).exists():
        raise UsageError(f"'{folder}' is a run directory of forum already")
    raise UsageError(f"there is no {' and no '.join(wanted)} in '{folder}'; traces are given as a file")


def detect_format(head: bytes, name: str, asked: ImportFormat | None) -> DetectedFormat:
    """What a file is, by its first object; `asked` is believed, and the file then held to it when it is read."""
    if not head.strip():
        raise UsageError(f"there is nothing in '{name}'")
    text = head.decode("utf-8", "replace")
    first, line_end, _ = text.lstrip().partition("\n")
    # A document on one line is a line of JSON too; one whose first line goes on beyond the head can only be that.
    is_lines = not line_end or _is_json(first)
    members = _first_members(text)
    format_ = asked or _format_by(members)
    if format_ is None:
        raise UsageError(_unknown(name, members))
    return DetectedFormat(format_, is_lines)


def _format_by(members: set[str]) -> ImportFormat | None:
    if members >= _OF_AN_ENGINE:
        return ImportFormat.FORUM_ENGINE
    if TRANSCRIPT in members:
        return ImportFormat.SYMPOSIUM
    return ImportFormat.OTEL if members & set(SIGNALS) else None


def _unknown(name: str, members: set[str]) -> str:
    if members >= _OURS:
        return f"'{name}' is a ledger of forum already"
    return f"'{name}' is none of the formats that can be imported ({_KNOWN}); --format says which one it should be"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _first_members(text: str) -> set[str]:
    """The members of the object at the beginning of a text that may be cut anywhere."""
    found: set[str] = set()
    depth = 0
    before = ""
    for match in _PART.finditer(text):
        part = match[0]
        depth += (part in "{[") - (part in "}]")
        if depth <= 0:
            break
        if part == ":" and depth == 1:
            found.add(before.strip('"'))
        before = part
    return found
