"""Writes the ledger of an import: what was imported, then a record at a time, then the seal."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forum_runner.errors import UsageError
from forum_runner.importing.gathered import Check, Gathered
from forum_runner.ledger.body import TEXT, Body
from forum_runner.ledger.clock import Clock, wall_clock
from forum_runner.ledger.files import Durability, LedgerFiles
from forum_runner.ledger.layout import BODIES, CHECKPOINT, FORMAT, LEDGER
from forum_runner.ledger.writer import IMPLEMENTATION, LedgerBrokenError, LedgerState, LedgerWriter

# What is staged is written at once: many small records share a write, and none waits for long.
_MAX_STAGED = 512
_MAX_STAGED_BYTES = 1 << 24
_OCTETS = "application/octet-stream"


def write_ledger(gathered: Gathered, directory: Path, run: str, clock: Clock = wall_clock) -> str:
    """Writes it and seals it; the head comes back. What fails, or is interrupted, takes the directory away again."""
    was_there = directory.exists()
    try:
        files = LedgerFiles.create(directory, Durability.BATCH)
    except OSError as error:
        raise UsageError(f"cannot begin a ledger in '{directory}': {error.strerror}") from error
    try:
        with LedgerWriter(files, LedgerState(run), clock) as writer:
            opened = {"format": FORMAT, "implementation": IMPLEMENTATION, "mode": "imported"}
            writer.append("run.opened", {**opened, "imported": _imported(gathered)}, bodies=_bodies(gathered))
            _write_records(writer, gathered)
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


def _imported(gathered: Gathered) -> dict[str, Any]:
    return {
        "format": gathered.format.value,
        "files": [asdict(file) for file in sorted(gathered.files, key=lambda file: file.name)],
        "records": len(gathered.spool),
        "check": gathered.check.value,
    }


def _bodies(gathered: Gathered) -> dict[str, Body]:
    bodies = {"notice": Body(notice(gathered).encode(), TEXT)}
    if gathered.source is not None:
        bodies["source"] = Body(gathered.source, _OCTETS)
    return bodies


def notice(gathered: Gathered) -> str:
    held = {Check.OK: "Checked", Check.FAIL: "IT DOES NOT HOLD", Check.NOT_CHECKED: "Not checked"}[gathered.check]
    return (
        f"This ledger was made from records of another program, of the format {gathered.format}.\n"
        "It shows whether anything was changed since the import. What the records tell of the time before\n"
        "is only as good as their source, and times are those that the source gives.\n"
        "The seal's status says that the import was done, and nothing of how the work ended.\n"
        f"{held}: {gathered.ground}.\n"
    ) + "".join(f"Noted: {remark}.\n" for remark in gathered.remarks)


def _write_records(writer: LedgerWriter, gathered: Gathered) -> None:
    staged = staged_bytes = 0
    for record in gathered.records():
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
