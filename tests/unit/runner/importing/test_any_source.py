"""Whatever stands in a source: it is parsed or refused, and the importer has no third ending."""

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from forum_runner.importing import forum_engine, otel, symposium
from forum_runner.importing.import_file import ImportFile
from forum_runner.importing.parsed_source import ParsedSource
from forum_runner.importing.source_error import SourceError
from forum_runner.importing.spool import RecordSpool

FOREIGN = Path(__file__).parents[3] / "acceptance" / "foreign"
VALUE = re.compile(rb'"[^"]*"(?=[,}\]\n])|-?[0-9.]+(?=[,}\]])|null|true|false|\[\]|\{\}')
OTHERS = (b"null", b"[]", b"{}", b'""', b"-1", b"1.5", b"true", b'"x"', b"18446744073709551615", b"[[1]]")


def source(path: Path, data: bytes | None = None) -> ImportFile:
    return ImportFile(path.name, BytesIO(path.read_bytes() if data is None else data))


def engine(file: Path, data: bytes, spool: RecordSpool) -> ParsedSource:
    folder = file.parent
    parts = {name: source(folder / name, data if name == file.name else None) for name in ENGINE_FILES}
    return forum_engine.parse(spool, *(parts[name] for name in ENGINE_FILES))


ENGINE_FILES = ("entries.jsonl", "payloads.jsonl")
READERS: dict[str, Callable[[Path, bytes, RecordSpool], ParsedSource]] = {
    "forum-engine/entries.jsonl": engine,
    "forum-engine/payloads.jsonl": engine,
    "symposium/artifact.json": lambda file, data, spool: symposium.parse(spool, source(file, data), 0),
    "otel/today.jsonl": lambda file, data, spool: otel.parse(spool, source(file, data), 0, is_lines=True),
    "otel/older.json": lambda file, data, spool: otel.parse(spool, source(file, data), 0, is_lines=False),
}


def changed(data: bytes) -> Iterator[bytes]:
    for found in VALUE.finditer(data):
        yield from (data[: found.start()] + other + data[found.end() :] for other in OTHERS)


@pytest.mark.parametrize("name", READERS)
def test_a_value_of_another_type_is_taken_or_refused_with_a_place(name: str) -> None:
    file = FOREIGN / name
    endings = {"parsed": 0, "refused": 0}

    for data in changed(file.read_bytes()):
        with RecordSpool() as spool:
            try:
                parsed = READERS[name](file, data, spool)
            except SourceError as error:
                assert error.file == file.name
                endings["refused"] += 1
            else:
                assert len(list(parsed.records())) == len(spool)
                endings["parsed"] += 1

    assert endings["parsed"] > 10
    assert endings["refused"] > 10
