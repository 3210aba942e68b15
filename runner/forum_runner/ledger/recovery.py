"""What is found when a ledger is opened again: verified, its torn tails set aside, its redactions carried out."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.archive import END
from forum_runner.ledger.body import Salt
from forum_runner.ledger.body_index import BodyIndex
from forum_runner.ledger.clock import Clock, read_time
from forum_runner.ledger.copying import restore_copies
from forum_runner.ledger.files import LedgerFiles, sync_directory
from forum_runner.ledger.layout import BODIES, LEDGER, TORN, leaf_hash
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.redaction import carry_out
from forum_runner.ledger.verification.bodies_level import UnreadableArchive, check_bodies
from forum_runner.ledger.verification.bytes_level import LineFault, LineReader
from forum_runner.ledger.verification.chain_level import Chain
from forum_runner.ledger.verification.copies import Copies
from forum_runner.ledger.verification.report import Findings
from forum_runner.ledger.writer import LedgerState, LedgerWriter

_MENDED_HERE = frozenset({"L306", "L308", "L310"})
_CHUNK = 1 << 20
_MAX_TORN = 16
_SET_ASIDE = re.compile(rf"({LEDGER}|{BODIES})[.]([0-9a-f]{{64}})")


class DamagedLedgerError(ForumError):
    """A ledger that does not hold: nothing is added to it."""

    exit_code = ExitCode.NOT_VERIFIED

    def __init__(self, directory: Path, code: str, seq: int | None, sentence: str) -> None:
        self.code = code
        self.seq = seq
        place = f" at entry {seq}" if seq is not None else ""
        super().__init__(f"the ledger in '{directory}' does not hold{place}: {code} {sentence}")


def recover(files: LedgerFiles, clock: Clock, salt: Salt) -> LedgerWriter:
    found = _Scan(files.directory)
    torn = list(_set_aside(files, found))
    files.ledger_end, files.bodies_end = found.ledger_end, found.bodies_end
    if found.state.is_sealed:
        files.end_archive()
    carry_out(files, found.index, found.copies)
    restore_copies(files.directory, found.copies)
    writer = LedgerWriter(files, found.state, clock, salt)
    for start in range(0, len(torn), _MAX_TORN):
        writer.append("run.repaired", {"torn": torn[start : start + _MAX_TORN]})
    if found.last_seal is not None and not writer.is_sealed:
        writer.seal(found.last_seal["status"], found.last_seal["counts"], found.last_seal["totals"])
    return writer


class _Scan:
    """One pass over each file: everything that the next entry depends on, and where the sound part of each ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.index = BodyIndex()
        self.copies = Copies()
        self.last_seal: dict[str, Any] | None = None
        self.known_torn: set[str] = set()
        self.ledger_end = 0
        self._findings = Findings()
        self.state = self._read_lines()
        self.state.stored = set(self.index)
        self.state.redacted = set(self.index.redacted)
        self.state.answers = self.copies.outputs()
        self.bodies_end = self._read_bodies()

    def _read_lines(self) -> LedgerState:
        chain = Chain(self._findings)
        reader = LineReader()
        state = LedgerState("")
        at = ""
        with (self.directory / LEDGER).open("rb") as stream:
            for seq, line in enumerate(Lines(stream)):
                try:
                    entry = reader.read(line)
                except LineFault as fault:
                    raise DamagedLedgerError(self.directory, fault.code, seq, str(fault)) from fault
                chain.look(seq, entry, state.head.decode())
                self._refuse_findings()
                for code in self.index.look(seq, entry):
                    raise DamagedLedgerError(self.directory, code, seq, "it names a body in a way that cannot be")
                self._note(seq, entry)
                leaf = leaf_hash(line)
                state.head = leaf.hex().encode()
                state.tree.add(leaf)
                state.is_sealed = entry["kind"] == "run.sealed"
                at = entry["at"]
                self.ledger_end += len(line) + 1
        if chain.run is None:
            raise UsageError(f"the ledger in '{self.directory}' has no entry: nothing was ever recorded in it")
        state.run, state.latest, state.has_seal = chain.run, read_time(at), chain.is_sealed
        return state

    def _note(self, seq: int, entry: dict[str, Any]) -> None:
        self.copies.look(seq, entry)
        if entry["kind"] == "run.sealed":
            self.last_seal = entry["data"]
        elif entry["kind"] == "run.repaired":
            self.known_torn |= {item["digest"] for item in entry["data"]["torn"]}

    def _read_bodies(self) -> int:
        path = self.directory / BODIES
        try:
            end = check_bodies(self.index, path, self._findings, is_sealed=self.state.is_sealed)
        except UnreadableArchive as error:
            raise DamagedLedgerError(self.directory, "L301", None, str(error)) from error
        self._refuse_findings()
        return end

    def _refuse_findings(self) -> None:
        for finding in self._findings.listed if self._findings.codes - _MENDED_HERE else ():
            if finding.code not in _MENDED_HERE:
                raise DamagedLedgerError(self.directory, finding.code, finding.seq, finding.sentence)


def _set_aside(files: LedgerFiles, found: _Scan) -> Iterator[dict[str, Any]]:
    """Cuts the torn tails, each when its copy is on disk; tells these, and those of an opening that was killed."""
    folder = files.directory / TORN
    for name, end in ((LEDGER, found.ledger_end), (BODIES, found.bodies_end)):
        if _has_torn_tail(files.directory / name, end):
            _copy_tail(files.directory / name, end, folder)
            files.cut(name, end)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        named = _SET_ASIDE.fullmatch(path.name)
        if named and named[2] not in found.known_torn:
            yield {"file": named[1], "bytes": path.stat().st_size, "digest": named[2]}


def _has_torn_tail(path: Path, end: int) -> bool:
    with path.open("rb") as stream:
        stream.seek(end)
        tail = stream.read(len(END) + 1)
    return bool(tail) and not (path.name == BODIES and tail == END)


def _copy_tail(path: Path, start: int, folder: Path) -> None:
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
