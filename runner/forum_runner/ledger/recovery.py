"""Reopens a ledger: verifies it, sets torn tails aside, and completes interrupted redactions and copies."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import END_OF_ARCHIVE
from forum_runner.ledger.body import Salt
from forum_runner.ledger.body_index import RULE_MESSAGES, BodyIndex
from forum_runner.ledger.clock import Clock
from forum_runner.ledger.entries import AnyEntry, RunRepaired, RunSealed
from forum_runner.ledger.files import LedgerFiles, make_folder
from forum_runner.ledger.layout import BODIES, LEDGER, TORN_TAILS
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.redaction import remove_bodies
from forum_runner.ledger.verification.bodies_level import UnreadableArchive, check_bodies
from forum_runner.ledger.verification.chain_level import checked_entries
from forum_runner.ledger.verification.copies import Copies
from forum_runner.ledger.verification.report import DamagedLedgerError, LedgerFinding, LedgerFindings
from forum_runner.ledger.writer import LedgerState, LedgerWriter
from forum_runner.write_file import sync_directory

# Unfinished redactions, missing or wrong copies, and a torn tail of the archive.
_REPAIRABLE_CODES = frozenset({"L306", "L308", "L310"})
_CHUNK_BYTES = 1 << 20
# The format allows this many items in one `run.repaired` entry.
_MAX_TORN_TAILS = 16
_TORN_FILE_NAME = re.compile(rf"({LEDGER}|{BODIES})[.]([0-9a-f]{{64}})")

# Receives each entry that passes levels 1 and 2. If it raises, the ledger stays unchanged.
EntryObserver = Callable[[AnyEntry], None]


def recover(files: LedgerFiles, clock: Clock, salt: Salt, observe: EntryObserver | None = None) -> LedgerWriter:
    """Returns a writer for a locked ledger. Raises a DamagedLedgerError if it is invalid and cannot be repaired."""
    scan = _Scan(files.directory, observe)
    torn_tails = list(_set_aside(files, scan))
    files.ledger_end, files.bodies_end = scan.ledger_end, scan.bodies_end
    if scan.state.is_sealed:
        files.end_archive()
    if scan.index.redacted:
        # The entries that record a redaction must be durable before its bytes are removed.
        files.sync(always=True)
        remove_bodies(files, [digest.hex() for digest in scan.index.redacted], scan.copies)
    scan.copies.restore(files.directory)
    writer = LedgerWriter(files, scan.state, clock, salt)
    for start in range(0, len(torn_tails), _MAX_TORN_TAILS):
        writer.append("run.repaired", {"torn": torn_tails[start : start + _MAX_TORN_TAILS]})
    if scan.state.sealed_as is not None and not writer.is_sealed:
        writer.seal(**scan.state.sealed_as)
    return writer


class _Scan:
    """Reads each file once: the state that the next entry depends on, and where the valid part of each file ends."""

    def __init__(self, directory: Path, observe: EntryObserver | None) -> None:
        self.directory = directory
        self.index = BodyIndex()
        self.copies = Copies()
        self.recorded_torn_tails: set[str] = set()
        self.ledger_end = 0
        self.state = LedgerState("")
        self._read_lines(observe)
        self.state.stored = set(self.index)
        self.state.redacted = set(self.index.redacted)
        self.state.recorded_outputs = self.copies.outputs()
        self.bodies_end = self._read_bodies()

    def _read_lines(self, observe: EntryObserver | None) -> None:
        state = self.state
        with (self.directory / LEDGER).open("rb") as stream:
            for seq, line, entry, leaf in checked_entries(Lines(stream), str(self.directory)):
                for code in self.index.add(seq, entry):
                    raise DamagedLedgerError(str(self.directory), LedgerFinding(code, seq, RULE_MESSAGES[code]))
                self._apply(seq, entry)
                if observe is not None:
                    observe(entry)
                state.run, state.last_time, state.head = entry.run, entry.at, leaf.hex()
                state.tree.add(leaf)
                self.ledger_end += len(line) + 1
        if not state.run:
            raise UsageError(f"the ledger in '{self.directory}' has no entries")

    def _apply(self, seq: int, entry: AnyEntry) -> None:
        self.copies.add(seq, entry)
        data = entry.data
        self.state.is_sealed = isinstance(data, RunSealed)
        if isinstance(data, RunSealed):
            facts = {"status": data.status, "counts": asdict(data.counts), "totals": asdict(data.totals)}
            self.state.sealed_as = facts
        elif isinstance(data, RunRepaired):
            self.recorded_torn_tails |= {item.digest for item in data.torn}

    def _read_bodies(self) -> int:
        """The end of the last body that an entry refers to. Raises if the archive has a fault beyond repair."""
        findings = LedgerFindings()
        try:
            end = check_bodies(self.index, self.directory / BODIES, findings, is_sealed=self.state.is_sealed)
        except UnreadableArchive as error:
            raise DamagedLedgerError(str(self.directory), LedgerFinding("L301", None, str(error))) from error
        # Not all findings are listed, but `codes` has the codes of all.
        if damage := findings.codes - _REPAIRABLE_CODES:
            listed = (finding for finding in findings.listed if finding.code in damage)
            first = next(listed, LedgerFinding(min(damage), None, "see `forum verify`"))
            raise DamagedLedgerError(str(self.directory), first)
        return end


def _set_aside(files: LedgerFiles, scan: _Scan) -> Iterator[dict[str, Any]]:
    """Truncates torn tails once their copies are on disk, and yields every copy that no entry records yet."""
    folder = files.directory / TORN_TAILS
    recorded = scan.recorded_torn_tails
    for name, end in ((LEDGER, scan.ledger_end), (BODIES, scan.bodies_end)):
        if _has_torn_tail(files.directory / name, end):
            # The same bytes may have been set aside before; they are recorded again.
            recorded = recorded - {_copy_tail(files.directory / name, end, folder)}
            files.truncate(name, end)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = _TORN_FILE_NAME.fullmatch(path.name)
        if match and match[2] not in recorded:
            yield {"file": match[1], "bytes": path.stat().st_size, "digest": match[2]}


def _has_torn_tail(path: Path, end: int) -> bool:
    with path.open("rb") as stream:
        stream.seek(end)
        tail = stream.read(len(END_OF_ARCHIVE) + 1)
    return bool(tail) and not (path.name == BODIES and tail == END_OF_ARCHIVE)


def _copy_tail(path: Path, start: int, folder: Path) -> str:
    """Copies the tail into `folder`, and returns its digest, which names the copy."""
    make_folder(folder)
    hasher = hashlib.sha256()
    temporary = folder / f".{path.name}"
    # A killed writer may have left the file. A new one is never a link.
    temporary.unlink(missing_ok=True)
    with path.open("rb") as source, temporary.open("xb") as copy:
        source.seek(start)
        while chunk := source.read(_CHUNK_BYTES):
            hasher.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    temporary.replace(folder / f"{path.name}.{hasher.hexdigest()}")
    sync_directory(folder)
    sync_directory(folder.parent)
    return hasher.hexdigest()
