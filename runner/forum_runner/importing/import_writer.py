"""Writes the ledger of an import: what was imported, then a record at a time, then the seal."""

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

# What is staged is written at once: many small records share a write, and none waits for long.
_MAX_STAGED = 512
_MAX_STAGED_BYTES = 1 << 24
_OCTETS = "application/octet-stream"


def write_ledger(parsed: ParsedSource, directory: Path, run: str, clock: Clock = wall_clock) -> str:
    """Writes it and seals it; the head comes back. What fails, or is interrupted, takes the directory away again."""
    was_there = directory.exists()
    try:
        files = LedgerFiles.create(directory, Durability.BATCH)
    except OSError as error:
        raise UsageError(f"cannot begin a ledger in '{directory}': {error.strerror}") from error
    try:
        with LedgerWriter(files, LedgerState(run), clock) as writer:
            opened = {"format": FORMAT, "implementation": IMPLEMENTATION, "mode": "imported"}
            writer.append("run.opened", {**opened, "imported": _imported(parsed)}, bodies=_bodies(parsed))
            _write_records(writer, parsed)
            # The format has no status for what was not run here; `mode` in the first entry tells readers which it is.
            writer.seal("passed")
    except BaseException as error:
        _take_away(directory, is_ours=not was_there)
        if isinstance(error, LedgerBrokenError) and isinstance(error.__cause__, OSError):
            raise UsageError(
                f"cannot write '{directory}': {error.__cause__.strerror}; nothing of it is left"
            ) from error
        raise
    return writer.head


def _imported(parsed: ParsedSource) -> dict[str, Any]:
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
    held = {SourceCheck.OK: "Checked", SourceCheck.FAIL: "IT DOES NOT HOLD", SourceCheck.NOT_CHECKED: "Not checked"}[
        parsed.check
    ]
    return (
        f"This ledger was made from records of another program, of the format {parsed.format}.\n"
        "It shows whether anything was changed since the import. What the records tell of the time before\n"
        "is only as good as their source, and times are those that the source gives.\n"
        "The seal's status says that the import was done, and nothing of how the work ended.\n"
        f"{held}: {parsed.reason}.\n"
    ) + "".join(f"Noted: {remark}.\n" for remark in parsed.remarks)


def _write_records(writer: LedgerWriter, parsed: ParsedSource) -> None:
    staged = staged_bytes = 0
    for record in parsed.records():
        # Entry 0 is the import itself: it is what a record without a cause of its own follows from.
        causes = [number + 1 for number in record.causes] or [0]
        writer.stage(record.kind, record.data, bodies=record.bodies, causes=causes)
        staged += 1
        staged_bytes += sum(len(body.data) for body in record.bodies.values())
        if staged >= _MAX_STAGED or staged_bytes >= _MAX_STAGED_BYTES:
            writer.commit()
            staged = staged_bytes = 0
    writer.commit()


def _take_away(directory: Path, *, is_ours: bool) -> None:
    """A directory that was there before stays, without the files that were begun in it."""
    if is_ours:
        shutil.rmtree(directory, ignore_errors=True)
        return
    for name in (LEDGER, BODIES, CHECKPOINT):
        (directory / name).unlink(missing_ok=True)
