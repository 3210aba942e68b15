"""Reads server-sent events (HTML standard, section 9.2.6) from bytes that arrive in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event. `data` is not decoded, because its reader handles invalid UTF-8."""

    name: str
    data: bytes


class EventReader:
    """Parses events from pieces of a stream, however the stream is divided into pieces."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._name = ""
        self._data: list[bytes] = []
        self._is_after_return = False
        self._is_first_line = True

    def feed(self, piece: bytes) -> list[Event]:
        if self._is_after_return and piece:
            # "\r" has already ended the line, so a "\n" after it ends nothing.
            piece = piece.removeprefix(b"\n")
            self._is_after_return = False
        if not piece:
            return []
        self._is_after_return = piece.endswith(b"\r")
        first, *others = _LINE_END.split(piece)
        self._line.append(first)
        events: list[Event] = []
        for other in others:
            events += self._read_line(b"".join(self._line))
            self._line = [other]
        return events

    def end(self) -> list[Event]:
        """The last event, if the empty line after it is missing. The standard drops such an event, but many servers
        end with a bare `data: [DONE]`."""
        return [*self._read_line(b"".join(self._line)), *self._read_line(b"")]

    def _read_line(self, line: bytes) -> Iterator[Event]:
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")

    def _dispatch(self) -> Iterator[Event]:
        if self._data:
            yield Event(self._name, b"\n".join(self._data))
        self._name = ""
        self._data = []
