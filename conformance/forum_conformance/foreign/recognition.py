"""Recognize the format of a record by its beginning.

A record is foreign only if it has clear signs of a different format or no sign of a ledger: a damaged ledger is still
judged as a ledger.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from forum_conformance.foreign.members import first_members
from forum_conformance.foreign.packed import compression_of, contains_only_bodies, tar_members, utf16_text

HEAD_BYTES = 1 << 20
_MAX_LINES = 100
_MAX_LISTED_NAMES = 6
_MAX_NAME_LENGTH = 40

# Members of ledger entries that other records lack. Some of them are enough, because a line may be damaged.
_LEDGER_MEMBERS = ("bodies", "causes", "prev", "run")
_LEDGER_MEMBER_PATTERNS = tuple(re.compile(rb'"%b"\s*:' % name.encode()) for name in _LEDGER_MEMBERS)
_MIN_LEDGER_MEMBERS = 3


class Format(StrEnum):
    FORUM_ENGINE = "forum-engine"
    SYMPOSIUM = "symposium"
    OTEL = "otel"
    RUN_PART = "run-part"
    PACKED = "packed"
    UTF_16 = "utf-16"
    JSON = "json"
    JSON_LINES = "json-lines"
    NOT_JSON = "not-json"
    EMPTY = "empty"


_SIGNS = (
    (Format.FORUM_ENGINE, ("entry_hash", "payload_hash", "prev_hash")),
    (Format.SYMPOSIUM, ("canonical_transcript",)),
    (Format.SYMPOSIUM, ("speaker", "turn_index", "branch_depth")),
    (Format.OTEL, ("resourceSpans",)),
    (Format.OTEL, ("resourceLogs",)),
    (Format.OTEL, ("resourceMetrics",)),
)
_CHECKPOINT = re.compile(rb"[^\n]{1,1000}\n(?:0|[1-9][0-9]{0,19})\n[A-Za-z0-9+/]{43}=\n")
_WAVE_PLAN = re.compile(rb'"kind"\s*:\s*"WavePlan"')


@dataclass(frozen=True, slots=True)
class RecognizedFormat:
    format: Format
    sign: str
    """The evidence for the format."""


def recognize(head: bytes, *, is_named_like_a_ledger: bool) -> RecognizedFormat | None:
    """The format of a record by its first bytes, or None for a ledger. A file named like a ledger needs clear signs."""
    if recognized := _by_bytes(head) or _by_part(head):
        return recognized
    if has_ledger_signs(head):
        return None
    recognized = _by_members(head)
    if recognized is not None or is_named_like_a_ledger:
        return recognized
    return _by_form(head)


def has_ledger_signs(head: bytes) -> bool:
    return sum(1 for pattern in _LEDGER_MEMBER_PATTERNS if pattern.search(head)) >= _MIN_LEDGER_MEMBERS


def has_lines_with_cr(head: bytes) -> bool:
    """Whether the record has signs of a ledger and its first line ends with CR LF."""
    return head.partition(b"\n")[0].endswith(b"\r") and has_ledger_signs(head)


def is_import(head: bytes) -> bool:
    """Whether the first entry says that the ledger was imported from records of another program."""
    first = _read(head.partition(b"\n")[0].decode("utf-8", "replace"))
    entry = first[0] if first else None
    data = entry.get("data") if isinstance(entry, dict) else None
    return isinstance(data, dict) and data.get("mode") == "imported"


def _by_bytes(head: bytes) -> RecognizedFormat | None:
    if members := tar_members(head):
        if contains_only_bodies(members):
            return RecognizedFormat(Format.RUN_PART, "a tar archive of bodies, like bodies.tar")
        return RecognizedFormat(Format.PACKED, f"a tar with the members {_join_names(tuple(members))}")
    if compression := compression_of(head):
        return RecognizedFormat(Format.PACKED, f"it begins like a {compression} file")
    if (text := utf16_text(head)) is None:
        return None
    suffix = "; in UTF-8 it would have the members of a forum ledger" if has_ledger_signs(text.encode()) else ""
    return RecognizedFormat(Format.UTF_16, f"every character has two bytes{suffix}")


def _by_part(head: bytes) -> RecognizedFormat | None:
    if _CHECKPOINT.match(head):
        return RecognizedFormat(Format.RUN_PART, "an origin, a size and a root, like a checkpoint")
    if _WAVE_PLAN.search(head) and {"adapters", "digest", "kind"} <= first_members(head.decode("utf-8", "replace")):
        return RecognizedFormat(Format.RUN_PART, "a document of the kind WavePlan, like wave-plan.json")
    return None


def _by_members(head: bytes) -> RecognizedFormat | None:
    for place, text in _objects(head):
        members = first_members(text)
        for format_, signs in _SIGNS:
            if members.issuperset(signs):
                noun = "member" if len(signs) == 1 else "members"
                return RecognizedFormat(format_, f"the {noun} {_join_names(signs)} {place}")
    return None


def _objects(head: bytes) -> Iterator[tuple[str, str]]:
    """Texts that may begin with an object: the whole text, and each of the first lines (one may be damaged)."""
    text = head.decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n", _MAX_LINES)[:_MAX_LINES], 1):
        yield f"in line {number}", line
    yield "at the top of the document", text


def _by_form(head: bytes) -> RecognizedFormat:
    if not head:
        return RecognizedFormat(Format.EMPTY, "the file is empty")
    is_whole = len(head) < HEAD_BYTES
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A truncated head may end inside a character.
        if is_whole or error.start < len(head) - 4:
            return RecognizedFormat(Format.NOT_JSON, f"byte {error.start} is not UTF-8")
        text = head[: error.start].decode("utf-8")
    return _by_text(text, is_whole=is_whole)


def _by_text(text: str, *, is_whole: bool) -> RecognizedFormat:
    if is_whole and (value := _read(text)) is not None:
        return RecognizedFormat(Format.JSON, f"one JSON document: {_describe(value[0])}")
    lines = [line for line in text.split("\n")[: None if is_whole else -1] if line.strip()]
    values = [_read(line) for line in lines[:_MAX_LINES]]
    if values and all(value is not None for value in values) and not (is_whole and len(lines) == 1):
        return RecognizedFormat(
            Format.JSON_LINES, f"lines of JSON; the first is {_describe((values[0] or (None,))[0])}"
        )
    if not is_whole and text.lstrip()[:1] in "{[":
        return RecognizedFormat(Format.JSON, "it starts like a JSON document")
    return RecognizedFormat(Format.NOT_JSON, _fault(lines[0] if lines else text))


def _read(text: str) -> tuple[object] | None:
    """The value of a JSON text, in a tuple because it may be null; None if the text is not JSON."""
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _describe(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with the members {_join_names(tuple(value))}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)} item{'s' * (len(value) != 1)}"
    return f"a {type(value).__name__}" if value is not None else "null"


def _join_names(names: tuple[str, ...]) -> str:
    shortened = [
        name if len(name) <= _MAX_NAME_LENGTH else name[:_MAX_NAME_LENGTH] + "..." for name in names[:_MAX_LISTED_NAMES]
    ]
    if len(names) > _MAX_LISTED_NAMES:
        return f"{', '.join(shortened)}, ..."
    return " and ".join([", ".join(shortened[:-1]), shortened[-1]] if len(shortened) > 1 else shortened)


def _fault(text: str) -> str:
    if not text.strip():
        return "only white space"
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"the first line is not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "the first line cannot be parsed as JSON: nested too deeply"
    except ValueError:
        return "the first line cannot be parsed as JSON: a number has too many digits"
    return "a later line is not JSON"
