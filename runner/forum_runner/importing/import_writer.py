"""Writes the ledger of an import: the facts of the import, the records, the seal."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forum_runner.errors import UsageError
from forum_runner.importing.parsed_source import ParsedSource, SourceCheck
from forum_runner.ledger.body import TEXT, Body
from forum_runner.ledger.clock import Clock, wall_clock
from forum_runner.ledger.files import Durability, LedgerFiles
from forum_runner.ledger.layout import BODIES, CHECKPOINT, FORMAT, LEDGER
from forum_runner.ledger.writer import IMPLEMENTATION, LedgerBrokenError, LedgerState, LedgerWriter

# Staged records share a write; the limits keep memory small.
_MAX_STAGED = 512
_MAX_STAGED_BYTES = 1 << 24
_OCTETS = "application/octet-stream"


def write_ledger(parsed: ParsedSource, directory: Path, run: str, clock: Clock = wall_clock) -> str:
    """Writes and seals the ledger, and returns its head. On failure or interruption, removes what was written."""
    existed = directory.exists()
    try:
        files = LedgerFiles.create(directory, Durability.BATCH)
    except OSError as error:
        raise UsageError(f"cannot create a ledger in '{directory}': {error.strerror}") from error
    try:
        with LedgerWriter(files, LedgerState(run), clock) as writer:
            opened = {"format": FORMAT, "implementation": IMPLEMENTATION, "mode": "imported"}
            writer.append("run.opened", {**opened, "imported": _import_facts(parsed)}, bodies=_bodies(parsed))
            _write_records(writer, parsed)
            # The format has no status for imported runs; `mode` in the first entry marks them.
            writer.seal("passed")
    except BaseException as error:
        _remove(directory, is_new=not existed)
        if isinstance(error, LedgerBrokenError) and isinstance(error.__cause__, OSError):
            raise UsageError(
                f"cannot write '{directory}': {error.__cause__.strerror}; the partial ledger was removed"
            ) from error
        raise
    return writer.head


def _import_facts(parsed: ParsedSource) -> dict[str, Any]:
    return {
        "format": parsed.format.value,
        "files": [asdict(file) for file in sorted(parsed.files, key=lambda file: file.name)],
        "records": len(parsed.spool),
        "check": parsed.check.value,
    }


def _bodies(parsed: ParsedSource) -> dict[str, Body]:
    bodies = {"notice": Body(notice(parsed).encode(), TEXT)}
    if parsed.source is not None:
        bodies["source"] = Body(parsed.source, _OCTETS)
    return bodies


def notice(parsed: ParsedSource) -> str:
    labels = {SourceCheck.OK: "Checked", SourceCheck.FAIL: "CHECK FAILED", SourceCheck.NOT_CHECKED: "Not checked"}
    return (
        f"This ledger was imported from records of another program in the format {parsed.format}.\n"
        "It proves that the records have not changed since the import. Their statements about earlier events\n"
        "are only as trustworthy as their source; times are those of the source.\n"
        "The seal's status means that the import finished. It does not describe the outcome of the work.\n"
        f"{labels[parsed.check]}: {parsed.reason}.\n"
    ) + "".join(f"Note: {remark}.\n" for remark in parsed.remarks)


def _write_records(writer: LedgerWriter, parsed: ParsedSource) -> None:
    staged = staged_bytes = 0
    for record in parsed.records():
        # Entry 0 describes the import. Records without a cause follow from it.
        causes = [number + 1 for number in record.causes] or [0]
        writer.stage(record.kind, record.data, bodies=record.bodies, causes=causes)
        staged += 1
        staged_bytes += sum(len(body.data) for body in record.bodies.values())
        if staged >= _MAX_STAGED or staged_bytes >= _MAX_STAGED_BYTES:
            writer.commit()
            staged = staged_bytes = 0
    writer.commit()


def _remove(directory: Path, *, is_new: bool) -> None:
    """Removes the directory if the import created it, or else only the files that the import wrote."""
    if is_new:
        shutil.rmtree(directory, ignore_errors=True)
        return
    for name in (LEDGER, BODIES, CHECKPOINT):
        (directory / name).unlink(missing_ok=True)
