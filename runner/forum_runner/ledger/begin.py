"""Creates a ledger, or opens an existing one for writing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from forum_runner.canonical import canonical, digest
from forum_runner.errors import UsageError
from forum_runner.ledger.body import JSON, Body, Salt
from forum_runner.ledger.clock import Clock, wall_clock
from forum_runner.ledger.entry_values import RunId, fits
from forum_runner.ledger.files import Durability, LedgerFiles
from forum_runner.ledger.layout import FORMAT, WAVE_PLAN
from forum_runner.ledger.recovery import EntryObserver, recover
from forum_runner.ledger.run_id import new_run_id
from forum_runner.ledger.writer import IMPLEMENTATION, LedgerBrokenError, LedgerState, LedgerWriter, random_salt
from forum_runner.write_file import remove_leftovers, write_file


def create_ledger(
    directory: Path,
    *,
    run: str | None = None,
    wave_plan: bytes | None = None,
    mode: str = "live",
    implementation: Mapping[str, str] = IMPLEMENTATION,
    origin: Mapping[str, str] | None = None,
    durability: Durability = Durability.EACH,
    clock: Clock = wall_clock,
    salt: Salt = random_salt,
    extra_files: Mapping[str, bytes] = MappingProxyType({}),
) -> LedgerWriter:
    """Creates a ledger and writes its first entry. Without a `wave_plan`, the ledger is for entries of user kinds.

    `origin` has the id of the run whose results this run reuses, and the head of its ledger. `extra_files` maps names
    of files to their bytes; the files are written to the directory before the first entry.
    """
    directory = Path(directory)
    if run is not None and not fits(run, RunId):
        raise UsageError(f"'{run}' is not a run id: use a UUID of version 7 in lower case")
    try:
        files = LedgerFiles.create(directory, durability)
    except OSError as error:
        raise UsageError(f"cannot create a ledger in '{directory}': {error.strerror}") from error
    try:
        _write_extra_files(directory, extra_files)
        writer = LedgerWriter(files, LedgerState(run or new_run_id(clock(), os.urandom(10))), clock, salt)
        _open_run(writer, wave_plan, mode, implementation, origin)
    except BaseException:
        # If removing the files fails too, the first error is reported.
        with suppress(OSError):
            files.discard(_written_files(directory, {**extra_files, WAVE_PLAN: wave_plan}))
        raise
    return writer


def _write_extra_files(directory: Path, files: Mapping[str, bytes]) -> None:
    if files:
        # Leftovers of a killed creation do no harm if they cannot be removed.
        with suppress(OSError):
            remove_leftovers(directory, files)
    for name, data in files.items():
        write_file(directory / name, data)


def _written_files(directory: Path, files: Mapping[str, bytes | None]) -> Iterator[str]:
    """The files that were written: those that have exactly these bytes."""
    for name, data in files.items():
        path = directory / name
        if path.is_file() and path.read_bytes() == data:
            yield name


def _open_run(
    writer: LedgerWriter,
    wave_plan: bytes | None,
    mode: str,
    implementation: Mapping[str, str],
    origin: Mapping[str, str] | None,
) -> None:
    data: dict[str, Any] = {"format": FORMAT, "implementation": dict(implementation), "mode": mode}
    if origin is not None:
        data["from"] = dict(origin)
    if wave_plan is None:
        writer.append("run.opened", data)
        return
    try:
        document = orjson.loads(wave_plan)
        data |= {"wave_plan": document["digest"], "bundle": digest(canonical(document["bundle"]))}
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError("not a wave plan: use the output of `forum compile`") from error
    writer.append("run.opened", data, bodies={"wave_plan": Body(wave_plan, JSON)})
    write_file(writer.directory / WAVE_PLAN, wave_plan)


def open_ledger(
    directory: Path,
    *,
    durability: Durability = Durability.EACH,
    clock: Clock = wall_clock,
    salt: Salt = random_salt,
    observe: EntryObserver | None = None,
) -> LedgerWriter:
    """Opens an existing ledger for writing: locks it, verifies levels 1 to 3, and repairs it (see `recovery`).

    `observe` receives each entry. If `observe` raises, the ledger stays unchanged.
    """
    directory = Path(directory)
    try:
        files = LedgerFiles.open(directory, durability)
    except OSError as error:
        raise UsageError(f"cannot open the ledger in '{directory}': {error.strerror}") from error
    try:
        return recover(files, clock, salt, observe)
    except BaseException as error:
        files.close()
        if isinstance(error, OSError):
            raise LedgerBrokenError(error) from error
        raise
