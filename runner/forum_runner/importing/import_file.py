"""The files of a source: read in order, and hashed while reading."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from forum_runner.errors import UsageError
from forum_runner.importing.source_error import SourceError
from forum_runner.importing.strict_json import JsonText

STANDARD_INPUT = "-"
HEAD_BYTES = 1 << 20
# The longest line or document that is read into memory.
MAX_TEXT_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The name, size and digest of a file, as recorded in the first entry of the ledger."""

    name: str
    bytes: int
    digest: str


class ImportFile:
    """A file of a source. Bytes are counted and hashed as they are read; call `facts` at the end."""

    def __init__(self, name: str, stream: BinaryIO, rest: BinaryIO | None = None) -> None:
        """If the stream contains only the first HEAD_BYTES of the file, `rest` supplies the remaining bytes."""
        self.name = name
        self._stream = stream
        self._rest = rest
        self._hash = hashlib.sha256()
        self._bytes = 0

    def head(self) -> bytes:
        """The first bytes (at most HEAD_BYTES)."""
        head = self._stream.read(HEAD_BYTES)
        self._stream.seek(0)
        return head

    def lines(self) -> Iterator[JsonText]:
        """The non-empty lines, without LF."""
        return (line for line, _ in self.lines_and_offsets())

    def lines_and_offsets(self) -> Iterator[tuple[JsonText, int]]:
        """The non-empty lines, each with its offset."""
        self._copy_rest()
        number = 0
        while line := self._stream.readline(MAX_TEXT_BYTES + 1):
            number += 1
            if len(line) > MAX_TEXT_BYTES:
                raise SourceError(self.name, f"line {number}", f"the line has more than {MAX_TEXT_BYTES:,} bytes")
            offset = self._bytes
            self._update_facts(line)
            if line.strip():
                yield JsonText(self.name, line.removesuffix(b"\n"), number), offset

    def document(self) -> JsonText:
        """The whole file, as one document."""
        self._copy_rest()
        data = self._stream.read(MAX_TEXT_BYTES + 1)
        if len(data) > MAX_TEXT_BYTES:
            sentence = f"the document has more than {MAX_TEXT_BYTES:,} bytes; convert a larger file to JSON Lines"
            raise SourceError(self.name, "", sentence)
        self._update_facts(data)
        return JsonText(self.name, data)

    def read_at(self, offset: int, size: int) -> bytes:
        """Reads bytes that were read before; they are not hashed again."""
        self._stream.seek(offset)
        return self._stream.read(size)

    def content_if_small(self, max_bytes: int) -> bytes | None:
        """All bytes that were read, or None if there are more than `max_bytes`."""
        return self.read_at(0, self._bytes) if self._bytes <= max_bytes else None

    def _copy_rest(self) -> None:
        # Copy the rest only after the format was detected: an endless unknown stream must not fill the disk.
        if self._rest is not None:
            self._stream.seek(0, os.SEEK_END)
            shutil.copyfileobj(self._rest, self._stream)
            self._stream.seek(0)
            self._rest = None

    def _update_facts(self, data: bytes) -> None:
        self._hash.update(data)
        self._bytes += len(data)

    def facts(self) -> FileFacts:
        return FileFacts(self.name, self._bytes, self._hash.hexdigest())


@contextmanager
def open_file(path: Path | None) -> Iterator[ImportFile]:
    """Opens a file, or standard input if `path` is None. Anything but a regular file is copied to one first."""
    try:
        stream = open(0, "rb", closefd=False) if path is None else path.open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UsageError(f"cannot read '{path or 'standard input'}': {error.strerror}") from error
    with stream:
        name = STANDARD_INPUT if path is None else path.name.encode(errors="replace").decode()[:255]
        if path is not None and path.is_file():
            yield ImportFile(name, stream)
            return
        with tempfile.TemporaryFile() as copy:
            copy.write(stream.read(HEAD_BYTES))
            copy.seek(0)
            yield ImportFile(name, cast(BinaryIO, copy), stream)
