"""Verifies a ledger: one pass over its lines for levels 1, 2, 4 and 5, then one over its bodies for level 3."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from forum_runner.ledger.body_index import RULE_MESSAGES, BodyIndex
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.checkpoint import open_checkpoint, read_checkpoint_file
from forum_runner.ledger.entries import AFTER_A_SEAL, AnyEntry
from forum_runner.ledger.entry_decoder import EntryDecoder
from forum_runner.ledger.layout import BODIES, CHECKPOINT, ZERO_HASH
from forum_runner.ledger.lines import Lines, leaf_of
from forum_runner.ledger.note import VerifierKey
from forum_runner.ledger.recognition import LedgerDetector, run_directory
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.bodies_level import UnreadableArchive, check_bodies
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.chain_level import ChainChecker
from forum_runner.ledger.verification.copies import Copies
from forum_runner.ledger.verification.report import (
    LEVELS,
    UNFINISHED_CODES,
    ComparedCheckpoint,
    DamagedLedgerError,
    LedgerFinding,
    LedgerFindings,
    Level,
    Verdict,
    VerifyReport,
    Violation,
)
from forum_runner.ledger.verification.seal_level import ExpectedCheckpoint, SealChecker
from forum_runner.ledger.verification.semantics_level import SemanticsLevel

ALL_LEVELS = frozenset(LEVELS)
WITHOUT_SEAL = ALL_LEVELS - {5}


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """The levels to check, and the checkpoints and the head that the ledger must agree with.

    `faults` are findings about checkpoints that are malformed or not signed. `key` must have signed the checkpoint in
    the run directory.
    """

    levels: frozenset[int] = ALL_LEVELS
    expected: Sequence[ExpectedCheckpoint] = ()
    expected_head: str | None = None
    faults: Sequence[LedgerFinding] = ()
    key: VerifierKey | None = None


def verify(source: LedgerSource, request: VerifyRequest = VerifyRequest()) -> VerifyReport:  # noqa: B008 - frozen
    """Verifies a ledger, and compares it with the checkpoint in its run directory."""
    return _Verification(source, _with_own_checkpoint(source, request)).run()


def verify_run(source: LedgerSource, purpose: str, levels: frozenset[int] = ALL_LEVELS) -> tuple[Path, VerifyReport]:
    """Verifies a run directory before something is read from it. Returns the directory and its report.

    An invalid ledger raises a DamagedLedgerError; an unfinished one does not. `purpose` is for `run_directory`.
    """
    directory = run_directory(source, purpose)
    report = verify(source, VerifyRequest(levels))
    if report.verdict is Verdict.INVALID:
        # A finding of an unfinished ledger does not make it invalid.
        reasons = (finding for finding in report.findings if finding.code not in UNFINISHED_CODES)
        raise DamagedLedgerError(source.name, next(reasons, report.findings[0]))
    return directory, report


def _with_own_checkpoint(source: LedgerSource, request: VerifyRequest) -> VerifyRequest:
    """Adds the checkpoint in the run directory, if there is one, to the request."""
    path = source.directory / CHECKPOINT if source.directory is not None else None
    if path is None or not os.path.lexists(path):
        return request
    opened = open_checkpoint(read_checkpoint_file(path), request.key)
    if isinstance(opened, LedgerFinding):
        return replace(request, faults=(opened, *request.faults))
    own = ExpectedCheckpoint("directory", opened, request.key.name if request.key is not None else None)
    return replace(request, expected=(own, *request.expected))


class _Verification:
    def __init__(self, source: LedgerSource, request: VerifyRequest) -> None:
        self._request = request
        self._directory: Path | None = source.directory
        self._source = source
        self._line_findings = LedgerFindings()
        # Separate findings: levels 3 to 5 are reported only if all lines pass levels 1 and 2.
        self._higher_findings = {level: LedgerFindings() for level in (3, 4, 5)}
        self._chain = ChainChecker(self._line_findings)
        self._index = BodyIndex()
        self._copies = Copies()
        self._seals = SealChecker(request.expected)
        self._detector = LedgerDetector()
        self._is_ledger = True
        self._skip_reasons = {level: "not requested" for level in LEVELS if level not in request.levels}
        if self._directory is None:
            self._skip_reasons.setdefault(3, "only a run directory has bodies")
        self._keeps_index = 3 not in self._skip_reasons
        self._checks_higher = self._keeps_index or 4 not in self._skip_reasons
        self._semantics = SemanticsLevel(self._higher_findings[4], self._skip_reasons)
        self._entries = 0
        self._head = ZERO_HASH
        self._checkpoints: list[ComparedCheckpoint] = []

    def run(self) -> VerifyReport:
        with _open_bodies(self._directory) or nullcontext() as bodies:
            if bodies is None:
                self._semantics.skip(_why_no_wave_plan(self._directory))
            elif 4 not in self._skip_reasons:
                self._semantics.start(BodyReader(bodies))
            with self._source.lines() as lines:
                self._read(lines)
            self._finish(lines, bodies)
        return self._report()

    def _read(self, lines: Lines) -> None:
        decode, check_chain = EntryDecoder().decode, self._chain.check
        seals, add, checks_higher = self._seals, self._seals.tree.add, self._checks_higher
        head = ZERO_HASH
        seq = 0
        for line in lines:
            leaf = leaf_of(line)
            entry = decode(line, head) or self._decode_by_rules(seq, line)
            if entry is None:
                seals.is_sealed = False
            else:
                check_chain(seq, entry, head)
                if seals.is_sealed or entry.kind in AFTER_A_SEAL:
                    seals.check(seq, entry, self._higher_findings[5])
                if checks_higher:
                    self._check_higher(seq, entry)
            add(leaf)
            head = leaf.hex()
            seq += 1
            if seq in seals.sizes:
                seals.keep_root()
        self._entries, self._head = seq, head

    def _decode_by_rules(self, seq: int, line: bytes) -> AnyEntry | None:
        try:
            return check_line(line)
        except Violation as violation:
            self._line_findings.add(violation.code, seq, str(violation))
            self._detector.add(line)
            return None

    def _check_higher(self, seq: int, entry: AnyEntry) -> None:
        """Checks an entry at levels 3 and 4, if they are requested."""
        if self._keeps_index:
            self._copies.add(seq, entry)
            for code in self._index.add(seq, entry):
                self._higher_findings[3].add(code, seq, RULE_MESSAGES[code])
        self._semantics.check(seq, entry)

    def _finish(self, lines: Lines, bodies: BinaryIO | None) -> None:
        if self._chain.run is None and (self._entries or lines.torn):
            self._detector.add(lines.torn)
            self._is_ledger = self._detector.is_ledger
        if self._line_findings.codes:
            failed = "1" if self._line_findings.has(1) else "2"
            for level in (3, 4, 5):
                self._skip_reasons.setdefault(level, f"level {failed} failed")
            return
        if not self._entries:
            self._skip_reasons.setdefault(4, "the ledger has no entries")
        if 3 not in self._skip_reasons:
            self._check_bodies(bodies)
        if 5 not in self._skip_reasons:
            self._check_seal(lines)

    def _check_bodies(self, bodies: BinaryIO | None) -> None:
        if self._directory is None:
            return
        findings, is_sealed = self._higher_findings[3], self._seals.is_sealed
        try:
            check_bodies(self._index, self._directory / BODIES, findings, is_sealed=is_sealed)
        except UnreadableArchive as error:
            self._higher_findings[3] = LedgerFindings()
            self._higher_findings[3].add("L301", None, str(error))
            return
        if bodies is not None:
            self._copies.check(self._directory, self._index, BodyReader(bodies), findings, is_sealed=is_sealed)

    def _check_seal(self, lines: Lines) -> None:
        findings = self._higher_findings[5]
        if self._entries == 0:
            findings.add("L502", None, "the ledger has no entries")
        elif not self._seals.is_sealed:
            findings.add("L501", None, "the ledger does not end with a seal")
        if lines.torn:
            findings.add("L503", self._entries, "the last line is truncated: it does not end with LF")
        for fault in self._request.faults:
            findings.add(fault.code, fault.seq, fault.sentence)
        self._checkpoints = self._seals.compare(self._chain.run or "", findings)
        expected = self._request.expected_head
        if expected is not None and (self._head if self._entries else None) != expected:
            findings.add("L511", None, f"the head is {self._head}; expected {expected}")

    def _report(self) -> VerifyReport:
        findings = self._line_findings
        for level in (3, 4, 5):
            if level not in self._skip_reasons:
                findings.extend(self._higher_findings[level])
        return VerifyReport(
            run=self._chain.run,
            status=self._seals.status if self._seals.is_sealed else None,
            entries=self._entries,
            head=self._head if self._entries else None,
            root=self._seals.tree.root().hex() if self._entries else None,
            redacted=len(self._seals.redacted),
            levels=tuple(self._level(level, findings) for level in LEVELS),
            findings=tuple(findings.listed),
            more_findings=findings.more,
            codes=tuple(sorted(findings.codes)),
            first_bad_seq=findings.first_bad_seq(),
            checkpoints=tuple(self._checkpoints),
            is_ledger=self._is_ledger,
        )

    def _level(self, level: int, findings: LedgerFindings) -> Level:
        if level in self._skip_reasons:
            return Level(level, "not checked", reason=self._skip_reasons[level])
        if not findings.has(level):
            return Level(level, "ok")
        codes = {code for code in findings.codes if int(code[1]) == level}
        status = "incomplete" if codes <= UNFINISHED_CODES else "fail"
        return Level(level, status, findings.first_bad_seq(level))


def _why_no_wave_plan(directory: Path | None) -> str:
    if directory is None:
        return "only a run directory has the wave plan"
    exists = os.path.lexists(directory / BODIES)
    return f"the wave plan is in {BODIES}, which {'cannot be read' if exists else 'is missing'}"


def _open_bodies(directory: Path | None) -> BinaryIO | None:
    """The archive; None without a run directory, or if the archive cannot be opened, which level 3 reports."""
    path = directory / BODIES if directory is not None else None
    try:
        return path.open("rb") if path is not None and path.is_file() else None
    except OSError:
        return None
