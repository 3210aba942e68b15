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
from forum_runner.ledger.archive import END
from forum_runner.ledger.body import Salt
from forum_runner.ledger.body_index import BodyIndex
from forum_runner.ledger.clock import Clock
from forum_runner.ledger.entries import AnyEntry, RunRepaired, RunSealed
from forum_runner.ledger.files import LedgerFiles
from forum_runner.ledger.layout import BODIES, LEDGER, TORN
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.redaction import complete_redactions
from forum_runner.ledger.verification.bodies_level import UnreadableArchive, check_bodies
from forum_runner.ledger.verification.chain_level import Chain, checked_entries
from forum_runner.ledger.verification.copies import Copies
from forum_runner.ledger.verification.report import DamagedLedgerError, LedgerFinding, LedgerFindings
from forum_runner.ledger.writer import LedgerState, LedgerWriter
from forum_runner.write_file import sync_directory

_REPAIRABLE = frozenset({"L306", "L308", "L310"})
_CHUNK = 1 << 20
_MAX_TORN = 16
_SET_ASIDE = re.compile(rf"({LEDGER}|{BODIES})[.]([0-9a-f]{{64}})")


# Receives each entry that satisfies levels 1 and 2. If it raises, the ledger stays unchanged.
Observe = Callable[[AnyEntry], None]


def recover(files: LedgerFiles, clock: Clock, salt: Salt, observe: Observe | None = None) -> LedgerWriter:
    found = _Scan(files.directory, observe)
    torn = list(_set_aside(files, found))
    files.ledger_end, files.bodies_end = found.ledger_end, found.bodies_end
    if found.state.is_sealed:
        files.end_archive()
    if found.index.redacted:
        # The entries that record a redaction must be durable before its bytes are removed.
        files.sync(always=True)
        complete_redactions(files, found.index, found.copies)
    found.copies.restore(files.directory)
    writer = LedgerWriter(files, found.state, clock, salt)
    for start in range(0, len(torn), _MAX_TORN):
        writer.append("run.repaired", {"torn": torn[start : start + _MAX_TORN]})
    if found.sealed_as is not None and not writer.is_sealed:
        writer.seal(**found.sealed_as)
    return writer


class _Scan:
    """Reads each file once: the state that the next entry depends on, and where the valid part of each file ends."""

    def __init__(self, directory: Path, observe: Observe | None) -> None:
        self.directory = directory
        self._observe = observe
        self.index = BodyIndex()
        self.copies = Copies()
        self.sealed_as: dict[str, Any] | None = None
        self.known_torn: set[str] = set()
        self.ledger_end = 0
        self._findings = LedgerFindings()
        self.state = self._read_lines()
        self.state.stored = set(self.index)
        self.state.redacted = set(self.index.redacted)
        self.state.answers = self.copies.outputs()
        self.state.sealed_as = self.sealed_as
        self.bodies_end = self._read_bodies()

    def _read_lines(self) -> LedgerState:
        chain = Chain(self._findings)
        state = LedgerState("")
        at = ""
        with (self.directory / LEDGER).open("rb") as stream:
            for seq, line, entry, leaf in checked_entries(Lines(stream), chain, str(self.directory)):
                for code in self.index.observe(seq, entry):
                    finding = LedgerFinding(code, seq, "the entry contradicts an earlier reference to a body")
                    raise DamagedLedgerError(str(self.directory), finding)
                self._note(seq, entry)
                if self._observe is not None:
                    self._observe(entry)
                state.head = leaf.hex()
                state.tree.add(leaf)
                state.is_sealed = isinstance(entry.data, RunSealed)
                at = entry.at
                self.ledger_end += len(line) + 1
        if chain.run is None:
            raise UsageError(f"the ledger in '{self.directory}' has no entries")
        state.run, state.latest = chain.run, at
        return state

    def _note(self, seq: int, entry: AnyEntry) -> None:
        self.copies.observe(seq, entry)
        data = entry.data
        if isinstance(data, RunSealed):
            self.sealed_as = {"status": data.status, "counts": asdict(data.counts), "totals": asdict(data.totals)}
        elif isinstance(data, RunRepaired):
            self.known_torn |= {item.digest for item in data.torn}

    def _read_bodies(self) -> int:
        path = self.directory / BODIES
        try:
            end = check_bodies(self.index, path, self._findings, is_sealed=self.state.is_sealed)
        except UnreadableArchive as error:
            raise DamagedLedgerError(str(self.directory), LedgerFinding("L301", None, str(error))) from error
        self._refuse_findings()
        return end

    def _refuse_findings(self) -> None:
        for finding in self._findings.listed if self._findings.codes - _REPAIRABLE else ():
            if finding.code not in _REPAIRABLE:
                raise DamagedLedgerError(str(self.directory), finding)


def _set_aside(files: LedgerFiles, found: _Scan) -> Iterator[dict[str, Any]]:
    """Truncates torn tails once their copies are on disk, and yields every copy that no entry records yet."""
    folder = files.directory / TORN
    recorded = found.known_torn
    for name, end in ((LEDGER, found.ledger_end), (BODIES, found.bodies_end)):
        if _has_torn_tail(files.directory / name, end):
            # The same bytes may have been set aside before; they are recorded again.
            recorded = recorded - {_copy_tail(files.directory / name, end, folder)}
            files.cut(name, end)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        named = _SET_ASIDE.fullmatch(path.name)
        if named and named[2] not in recorded:
            yield {"file": named[1], "bytes": path.stat().st_size, "digest": named[2]}


def _has_torn_tail(path: Path, end: int) -> bool:
    with path.open("rb") as stream:
        stream.seek(end)
        tail = stream.read(len(END) + 1)
    return bool(tail) and not (path.name == BODIES and tail == END)


def _copy_tail(path: Path, start: int, folder: Path) -> str:
    """Copies the tail into `folder`, and returns its digest, which names the copy."""
    folder.mkdir(exist_ok=True)
    hasher = hashlib.sha256()
    part = folder / f".{path.name}"
    with path.open("rb") as source, part.open("wb") as copy:
        source.seek(start)
        while chunk := source.read(_CHUNK):
            hasher.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    part.replace(folder / f"{path.name}.{hasher.hexdigest()}")
    sync_directory(folder)
    sync_directory(folder.parent)
    return hasher.hexdigest()
