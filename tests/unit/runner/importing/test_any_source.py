"""Importers either parse a source or reject it with a location, whatever it contains."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
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
REPLACEMENTS = (b"null", b"[]", b"{}", b'""', b"-1", b"1.5", b"true", b'"x"', b"18446744073709551615", b"[[1]]")


def source(path: Path, data: bytes | None = None) -> ImportFile:
    return ImportFile(path.name, BytesIO(path.read_bytes() if data is None else data))


def parse_forum_engine(file: Path, data: bytes, spool: RecordSpool) -> ParsedSource:
    folder = file.parent
    parts = {name: source(folder / name, data if name == file.name else None) for name in ENGINE_FILES}
    return forum_engine.parse(spool, *(parts[name] for name in ENGINE_FILES))


ENGINE_FILES = ("entries.jsonl", "payloads.jsonl")
READERS: dict[str, Callable[[Path, bytes, RecordSpool], ParsedSource]] = {
    "forum-engine/entries.jsonl": parse_forum_engine,
    "forum-engine/payloads.jsonl": parse_forum_engine,
    "symposium/artifact.json": lambda file, data, spool: symposium.parse(spool, source(file, data), 0),
    "otel/today.jsonl": lambda file, data, spool: otel.parse(spool, source(file, data), 0, is_json_lines=True),
    "otel/older.json": lambda file, data, spool: otel.parse(spool, source(file, data), 0, is_json_lines=False),
}


def mutate(data: bytes) -> Iterator[bytes]:
    for match in VALUE.finditer(data):
        yield from (data[: match.start()] + value + data[match.end() :] for value in REPLACEMENTS)


@pytest.mark.parametrize("name", READERS)
def test_a_value_of_a_different_type_is_accepted_or_rejected_with_a_location(name: str) -> None:
    file = FOREIGN / name
    outcomes = {"parsed": 0, "rejected": 0}

    for data in mutate(file.read_bytes()):
        with closing(RecordSpool()) as spool:
            try:
                parsed = READERS[name](file, data, spool)
            except SourceError as error:
                assert error.file == file.name
                outcomes["rejected"] += 1
            else:
                assert len(list(parsed.records())) == len(spool)
                outcomes["parsed"] += 1

    assert outcomes["parsed"] > 10
    assert outcomes["rejected"] > 10
