"""Creates a ledger from the record of another program."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from forum_runner.app.runs_folder import check_is_free, keep_out_of_git
from forum_runner.errors import UsageError
from forum_runner.importing import forum_engine, otel, symposium
from forum_runner.importing.format_detection import detect_format, find_source_file
from forum_runner.importing.import_file import STANDARD_INPUT, ImportFile, open_file
from forum_runner.importing.import_writer import write_ledger
from forum_runner.importing.parsed_source import ImportFormat, ParsedSource
from forum_runner.importing.spool import RecordSpool
from forum_runner.ledger.clock import wall_clock
from forum_runner.ledger.run_id import new_run_id
from forum_runner.workspace import Workspace

# A source up to this size is stored in full in the ledger.
MAX_SOURCE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The ledger that was created, and its source."""

    run: str
    directory: Path
    head: str
    records: int
    parsed: ParsedSource


def import_record(workspace: Workspace, source: str, format_: ImportFormat | None, out: Path | None) -> ImportResult:
    """Imports a record. Reads the whole source before it creates the ledger."""
    if format_ is not None and format_ not in list(ImportFormat):
        raise UsageError(f"unknown format '{format_}'; formats: {', '.join(ImportFormat)}")
    out = workspace.path(out)
    if out is not None:
        check_is_free(out, has_invocation=False)
    path = None if source == STANDARD_INPUT else workspace.path(source)
    if path is not None and not path.exists():
        raise UsageError(f"no file or directory '{source}'")
    run = new_run_id(wall_clock(), os.urandom(10))
    directory = out if out is not None else workspace.runs / run
    with ExitStack() as stack:
        spool = stack.enter_context(closing(RecordSpool()))
        parsed = _parse(stack, spool, path, format_)
        if out is None:
            keep_out_of_git(workspace.runs)
        head = write_ledger(parsed, directory, run)
        return ImportResult(run, directory, head, len(spool), parsed)


def _parse(stack: ExitStack, spool: RecordSpool, path: Path | None, requested: ImportFormat | None) -> ParsedSource:
    if path is not None and path.is_dir():
        path = find_source_file(path, requested)
    file = stack.enter_context(open_file(path))
    detected = detect_format(file.head(), file.name, requested)
    if detected.format is ImportFormat.FORUM_ENGINE:
        return forum_engine.parse(spool, file, _payloads(stack, path))
    if detected.format is ImportFormat.SYMPOSIUM:
        return symposium.parse(spool, file, MAX_SOURCE_BYTES)
    return otel.parse(spool, file, MAX_SOURCE_BYTES, is_json_lines=detected.is_json_lines)


def _payloads(stack: ExitStack, entries: Path | None) -> ImportFile | None:
    """The file with the bodies, if it is next to the entries."""
    payloads = entries.with_name(forum_engine.PAYLOADS) if entries is not None else None
    return stack.enter_context(open_file(payloads)) if payloads is not None and payloads.is_file() else None
