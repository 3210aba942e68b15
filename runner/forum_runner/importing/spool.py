"""Stores records in a temporary file until they are written, so that memory does not grow with the source."""

from __future__ import annotations

import tempfile
from array import array

import orjson

from forum_runner.importing.imported_record import ImportedRecord
from forum_runner.ledger.body import Body

_LENGTH_BYTES = 8


class RecordSpool:
    """Records by number, from 0, in the order in which they were added. Close it to remove the temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._offsets = array("Q")
        self._end = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, record: ImportedRecord) -> int:
        bodies = record.bodies.items()
        sizes = [[name, body.type, len(body.data)] for name, body in bodies]
        head = orjson.dumps([record.kind, record.data, record.causes, sizes])
        parts = (len(head).to_bytes(_LENGTH_BYTES), head, *(body.data for _, body in bodies))
        self._offsets.append(self._end)
        self._end += sum(map(len, parts))
        self._file.writelines(parts)
        return len(self._offsets) - 1

    def read(self, number: int) -> ImportedRecord:
        self._file.seek(self._offsets[number])
        head = self._file.read(int.from_bytes(self._file.read(_LENGTH_BYTES)))
        kind, data, causes, sizes = orjson.loads(head)
        bodies = {name: Body(self._file.read(size), type_) for name, type_, size in sizes}
        return ImportedRecord(kind, data, bodies, tuple(causes))

    def close(self) -> None:
        self._file.close()
