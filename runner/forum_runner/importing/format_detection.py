"""Detects the format of a source by its name and its first bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from forum_runner.errors import UsageError
from forum_runner.importing.forum_engine import ENTRIES
from forum_runner.importing.otel import SIGNALS
from forum_runner.importing.parsed_source import ImportFormat
from forum_runner.importing.strict_json import JSON_TOKEN
from forum_runner.importing.symposium import ARTIFACT, TRANSCRIPT
from forum_runner.ledger.layout import LEDGER

_ENGINE_MEMBERS = frozenset({"entry_hash", "payload_hash", "prev_hash"})
_FORUM_MEMBERS = frozenset({"run", "prev", "causes", "bodies"})
_SUPPORTED = "entries.jsonl of forum-engine, an artifact of symposium, OTLP JSON"


@dataclass(frozen=True, slots=True)
class DetectedFormat:
    """The format of a file. With `is_json_lines`, each line is a JSON document."""

    format: ImportFormat
    is_json_lines: bool


def find_source_file(folder: Path, format_: ImportFormat | None) -> Path:
    """The file in a folder that contains the records. Raises a UsageError if there is none.

    If the format is not set or its files have no fixed name, looks for the files of all formats.
    """
    names = {ImportFormat.FORUM_ENGINE: ENTRIES, ImportFormat.SYMPOSIUM: ARTIFACT}
    file_names = [names[format_]] if format_ in names else list(names.values())
    for name in file_names:
        if (folder / name).is_file():
            return folder / name
    if (folder / LEDGER).exists():
        raise UsageError(f"'{folder}' is already a run directory")
    raise UsageError(
        f"'{folder}' contains no {' and no '.join(file_names)}; to import traces, pass the path of the file"
    )


def detect_format(head: bytes, name: str, requested: ImportFormat | None) -> DetectedFormat:
    """The format of a file, by the members of its first object unless `requested` sets it.

    Raises a UsageError if the file is empty or its format is unknown.
    """
    if not head.strip():
        raise UsageError(f"'{name}' is empty")
    text = head.decode("utf-8", "replace")
    first, newline, _ = text.lstrip().partition("\n")
    # Without a newline, the file is a document in one line, or its first line is longer than the head.
    is_json_lines = not newline or _is_json(first)
    members = _first_members(text)
    format_ = requested or _format_with(members)
    if format_ is None:
        raise UsageError(_unknown_format_message(name, members))
    return DetectedFormat(format_, is_json_lines)


def _format_with(members: set[str]) -> ImportFormat | None:
    if members >= _ENGINE_MEMBERS:
        return ImportFormat.FORUM_ENGINE
    if TRANSCRIPT in members:
        return ImportFormat.SYMPOSIUM
    return ImportFormat.OTEL if members & set(SIGNALS) else None


def _unknown_format_message(name: str, members: set[str]) -> str:
    if members >= _FORUM_MEMBERS:
        return f"'{name}' is already a forum ledger"
    return f"unknown format of '{name}' (supported: {_SUPPORTED}); use --format to force one"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _first_members(text: str) -> set[str]:
    """The members of the first object in a text that may be truncated."""
    members: set[str] = set()
    depth = 0
    previous = ""
    for match in JSON_TOKEN.finditer(text):
        lexeme = match[0]
        depth += (lexeme in "{[") - (lexeme in "}]")
        if depth <= 0:
            break
        if lexeme == ":" and depth == 1:
            members.add(previous.strip('"'))
        previous = lexeme
    return members
