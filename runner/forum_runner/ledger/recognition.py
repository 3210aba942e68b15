"""Recognizes ledgers, even damaged ones, by the members of an entry in their lines.

A file with the name of a ledger, or in a run directory, counts as a ledger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.layout import LEDGER
from forum_runner.ledger.lines import Lines, length_of
from forum_runner.ledger.source import LedgerSource

_HEAD_BYTES = 1 << 20
_MEMBERS = tuple(re.compile(rb'"%b"\s*:' % name) for name in (b"bodies", b"causes", b"prev", b"run"))
# One of the four members may be damaged.
_MIN_MEMBERS = 3
# The beginning of a YAML or JSON mapping, after comments and directives. An archive that contains one does not match.
_MAPPING = re.compile(rb"""(?:\xef\xbb\xbf)?\s*(?:(?:#|---|%)[^\n]*\n\s*)*(?:\{|["']?[A-Za-z]+["']?[ \t]*:)""")
# A key starts a line in block style, and follows a bracket or a comma in flow style and JSON.
_KEY = rb"""(?m)(?:^|[{,])[ \t]*["']?%b["']?[ \t]*:[ \t]*["']?"""
_API_VERSION = re.compile(_KEY % b"apiVersion" + b"forum/")
_KIND = re.compile(_KEY % b"kind" + b"([A-Z][A-Za-z]*)")


class NotALedgerError(UsageError):
    """The source is not a ledger. `kind` says what it is, for example "a wave plan", if that is known."""

    def __init__(self, source: LedgerSource, kind: str | None) -> None:
        self.name, self.kind = source.name, kind
        fact = f"'{self.name}' is not a ledger" if kind is None else f"'{self.name}' is {kind}, not a ledger"
        super().__init__(fact if source.path is None else f"{fact}; pass a run directory or a run id")


class LedgerDetector:
    """Looks for the members of an entry in the first lines of a file. Damage may spread them over several lines."""

    def __init__(self) -> None:
        self._missing = list(_MEMBERS)
        self._bytes = 0

    @property
    def is_ledger(self) -> bool:
        """Whether the lines so far look like a ledger."""
        return len(_MEMBERS) - len(self._missing) >= _MIN_MEMBERS

    @property
    def is_finished(self) -> bool:
        """Whether the lines so far are enough to decide."""
        return self._bytes >= _HEAD_BYTES

    def add(self, line: bytes) -> None:
        if not self.is_finished:
            self._bytes += length_of(line) + 1
            self._missing = [member for member in self._missing if not member.search(line)]


def has_ledger_name(source: LedgerSource) -> bool:
    return source.directory is not None or (source.path is not None and source.path.name == LEDGER)


def ledger_lines(lines: Iterable[bytes], source: LedgerSource) -> Iterator[bytes]:
    """The lines of a source. Raises a NotALedgerError if its first lines do not look like a ledger.

    An empty source passes, and so does one with the name of a ledger or in a run directory.
    """
    unread = iter(lines)
    first_lines: list[bytes] = []
    detector = LedgerDetector()
    while not detector.is_ledger and not has_ledger_name(source):
        line = next(unread, None)
        if line is None:
            torn = lines.torn if isinstance(lines, Lines) else b""
            detector.add(torn)
            if (first_lines or torn) and not detector.is_ledger:
                raise NotALedgerError(source, _document_kind([*first_lines, torn]))
            break
        if detector.is_finished:
            raise NotALedgerError(source, _document_kind(first_lines))
        first_lines.append(line)
        detector.add(line)
    return chain(first_lines, unread)


def _document_kind(lines: Iterable[bytes]) -> str | None:
    """The kind of document, if it is a manifest or a wave plan; None if it is unknown."""
    from forum_runner import resources

    head = b"\n".join(lines)
    if not _MAPPING.match(head) or not _API_VERSION.search(head):
        return None
    for match in _KIND.finditer(head):
        kind = match[1].decode()
        if kind in resources.schema("manifest")["properties"]["kind"]["enum"]:
            return f"a manifest ({kind})"
        if kind == "WavePlan":
            return "a wave plan"
    return None


def check_is_ledger_stream(stream: BinaryIO, source: LedgerSource) -> None:
    """Raises a NotALedgerError if a seekable file is not a ledger. Rewinds the file."""
    ledger_lines(Lines(stream), source)
    stream.seek(0)


def check_is_ledger(source: LedgerSource) -> None:
    """Like `check_is_ledger_stream`, for a regular file. Other sources can be read only once, and are not checked."""
    if source.path is not None and source.path.is_file():
        with source.open() as stream:
            check_is_ledger_stream(stream, source)


def run_directory(source: LedgerSource, purpose: str) -> Path:
    """The run directory of a source. Raises a UsageError, which ends with `purpose`, if the source is not one."""
    check_is_ledger(source)
    if source.directory is None:
        is_file = source.path is not None and source.path.is_file()
        raise UsageError(f"'{source.name}' is {'a bare ledger' if is_file else 'not a run directory'}: {purpose}")
    return source.directory
