"""Whether something is a ledger at all: by what its lines have of an entry.

A ledger that was damaged is still one, and so is whatever has a ledger's name and place.
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
# One of them may be what was damaged.
_ENOUGH = 3
# A mapping, after comments and the like: what only holds a manifest somewhere, such as an archive, is none.
_MAPPING = re.compile(rb"""(?:\xef\xbb\xbf)?\s*(?:(?:#|---|%)[^\n]*\n\s*)*(?:\{|["']?[A-Za-z]+["']?[ \t]*:)""")
# In block style a key begins a line; in flow style, and in JSON, it follows a bracket or a comma.
_KEY = rb"""(?m)(?:^|[{,])[ \t]*["']?%b["']?[ \t]*:[ \t]*["']?"""
_API_VERSION = re.compile(_KEY % b"apiVersion" + b"forum/")
_KIND = re.compile(_KEY % b"kind" + b"([A-Z][A-Za-z]*)")


class NotALedgerError(UsageError):
    """What was given is something else; `what` says what it is, where that is known."""

    def __init__(self, source: LedgerSource, what: str | None) -> None:
        self.name, self.what = source.name, what
        said = f"'{self.name}' is not a ledger" if what is None else f"'{self.name}' is {what}, not a ledger"
        # Whoever gives standard input knows that a ledger is wanted there.
        super().__init__(said if source.path is None else f"{said}; give a run directory, or the id of a run")


class Signs:
    """Looks for the members of an entry, as far as a beginning goes: damage may have put them into several lines."""

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
    """The lines of a source, held back until one of them tells that it is a ledger; a NotALedgerError if none does.

    `torn` is asked for what follows the last line, when there is no further one.
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
    """A document of ours that is no ledger, by how it begins."""
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
    """Looks at a file that can be read again, and leaves it at its beginning."""
    lines = Lines(stream)
    ledger_lines(lines, source, lambda: lines.torn)
    stream.seek(0)


def check_is_ledger(source: LedgerSource) -> None:
    """Of a file. What can be read only once is left to whoever reads it."""
    if source.path is not None and source.path.is_file():
        with source.open() as stream:
            check_stream(stream, source)


def run_directory(source: LedgerSource, purpose: str) -> Path:
    """The run directory that a source was found in; a UsageError where a ledger alone, or something else, was given."""
    check_is_ledger(source)
    if source.directory is None:
        is_file = source.path is not None and source.path.is_file()
        raise UsageError(f"'{source.name}' is {'only a ledger' if is_file else 'no run directory'}: {purpose}")
    return source.directory
