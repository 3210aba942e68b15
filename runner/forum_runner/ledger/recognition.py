"""Recognizes ledgers, damaged ones too, by the members of an entry in their lines.

A file with the name of a ledger, or in a run directory, counts as a ledger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.layout import LEDGER
from forum_runner.ledger.lines import Lines, length_of
from forum_runner.ledger.source import LedgerSource

_HEAD_BYTES = 1 << 20
_MEMBERS = tuple(re.compile(rb'"%b"\s*:' % name) for name in (b"bodies", b"causes", b"prev", b"run"))
# One of them may be damaged.
_ENOUGH = 3
# A mapping, after comments and directives. An archive that contains a manifest does not match.
_MAPPING = re.compile(rb"""(?:\xef\xbb\xbf)?\s*(?:(?:#|---|%)[^\n]*\n\s*)*(?:\{|["']?[A-Za-z]+["']?[ \t]*:)""")
# A key starts a line in block style, and follows a bracket or a comma in flow style and JSON.
_KEY = rb"""(?m)(?:^|[{,])[ \t]*["']?%b["']?[ \t]*:[ \t]*["']?"""
_API_VERSION = re.compile(_KEY % b"apiVersion" + b"forum/")
_KIND = re.compile(_KEY % b"kind" + b"([A-Z][A-Za-z]*)")


class NotALedgerError(UsageError):
    """The source is not a ledger. `what` describes it, if it is known."""

    def __init__(self, source: LedgerSource, what: str | None) -> None:
        self.name, self.what = source.name, what
        said = f"'{self.name}' is not a ledger" if what is None else f"'{self.name}' is {what}, not a ledger"
        super().__init__(said if source.path is None else f"{said}; give a run directory or a run id")


class Signs:
    """Looks for the members of an entry in the beginning of a file. Damage may spread them over several lines."""

    def __init__(self) -> None:
        self._missing = list(_MEMBERS)
        self._bytes = 0

    @property
    def are_enough(self) -> bool:
        return len(_MEMBERS) - len(self._missing) >= _ENOUGH

    @property
    def is_beginning_over(self) -> bool:
        return self._bytes >= _HEAD_BYTES

    def look(self, line: bytes) -> None:
        if not self.is_beginning_over:
            self._bytes += length_of(line) + 1
            self._missing = [member for member in self._missing if not member.search(line)]


def is_called_a_ledger(source: LedgerSource) -> bool:
    return source.directory is not None or (source.path is not None and source.path.name == LEDGER)


def ledger_lines(
    lines: Iterable[bytes], source: LedgerSource, torn: Callable[[], bytes] = lambda: b""
) -> Iterator[bytes]:
    """The lines of a source. Raises a NotALedgerError if its beginning does not look like a ledger.

    `torn` returns the bytes after the last LF, once all lines are read.
    """
    given = iter(lines)
    held: list[bytes] = []
    signs = Signs()
    while not signs.are_enough and not is_called_a_ledger(source):
        line = next(given, None)
        if line is None:
            signs.look(torn())
            if (held or torn()) and not signs.are_enough:
                raise NotALedgerError(source, _what_it_is([*held, torn()]))
            break
        if signs.is_beginning_over:
            raise NotALedgerError(source, _what_it_is(held))
        held.append(line)
        signs.look(line)
    return chain(held, given)


def _what_it_is(lines: Iterable[bytes]) -> str | None:
    """Describes another document of this project; None if it is unknown."""
    from forum_runner import resources

    head = b"\n".join(lines)
    if not _MAPPING.match(head) or not _API_VERSION.search(head):
        return None
    for found in _KIND.finditer(head):
        kind = found[1].decode()
        if kind in resources.schema("manifest")["properties"]["kind"]["enum"]:
            return f"a manifest ({kind})"
        if kind == "WavePlan":
            return "a wave plan"
    return None


def check_stream(stream: BinaryIO, source: LedgerSource) -> None:
    """Raises a NotALedgerError if a seekable file is not a ledger. Rewinds the file."""
    lines = Lines(stream)
    ledger_lines(lines, source, lambda: lines.torn)
    stream.seek(0)


def check_is_ledger(source: LedgerSource) -> None:
    """Like `check_stream`, for a regular file. Other sources can be read only once, and are not checked."""
    if source.path is not None and source.path.is_file():
        with source.open() as stream:
            check_stream(stream, source)


def run_directory(source: LedgerSource, purpose: str) -> Path:
    """The run directory of a source. Raises a UsageError if the source is a bare ledger or something else."""
    check_is_ledger(source)
    if source.directory is None:
        is_file = source.path is not None and source.path.is_file()
        raise UsageError(f"'{source.name}' is {'a bare ledger' if is_file else 'not a run directory'}: {purpose}")
    return source.directory
