"""Whether something is a ledger at all: by what its lines have of an entry.

A ledger that was damaged is still one, and so is whatever has a ledger's name and place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.layout import LEDGER
from forum_runner.ledger.lines import Lines, length_of
from forum_runner.ledger.source import LedgerSource

_HEAD_BYTES = 1 << 20
_MEMBERS = tuple(re.compile(rb'"%b"\s*:' % name) for name in (b"bodies", b"causes", b"prev", b"run"))
# One of them may be what was damaged.
_ENOUGH = 3


class NotALedgerError(UsageError):
    """What was given is some other file."""

    def __init__(self, name: str) -> None:
        super().__init__(f"'{name}' is not a ledger")


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
                raise NotALedgerError(source.name)
            break
        if signs.is_beginning_over:
            raise NotALedgerError(source.name)
        held.append(line)
        signs.look(line)
    return chain(held, given)


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
