"""Judge a run directory or a bare ledger: read it line by line and check each level in turn."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from forum_conformance import archive
from forum_conformance.bodies import Store, check_members, check_order, is_broken
from forum_conformance.body_references import BodyReferences
from forum_conformance.copies import check_copies
from forum_conformance.entry import Entry
from forum_conformance.finding import Findings
from forum_conformance.first_pass import FirstPass, read_ledger
from forum_conformance.lines import Lines
from forum_conformance.note import MAX_BYTES, Checkpoint, PublicKey
from forum_conformance.report import LEVELS, Facts, Report, level_result
from forum_conformance.seal import Seals, Witness, read_witness
from forum_conformance.semantics.run import SemanticsCheck

ALL_LEVELS = frozenset(LEVELS)


class NoLedger(Exception):
    """The ledger does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"no ledger at '{path}'")


@dataclass(frozen=True, slots=True)
class OutsideEvidence:
    """Trusted information from outside the ledger."""

    expected_head: str | None = None
    checkpoint: bytes | None = None
    key: PublicKey | None = None
    pin: Checkpoint | None = None


def judge(path: Path, *, levels: frozenset[int] = ALL_LEVELS, evidence: OutsideEvidence | None = None) -> Report:
    """Judge a run directory, or a bare ledger, which is read only once."""
    directory = path if path.is_dir() else None
    ledger = path / "ledger.jsonl" if directory else path
    if not ledger.exists() or (directory and not ledger.is_file()):
        raise NoLedger(ledger)
    return _Judgment(lambda: ledger.open("rb"), directory, levels, evidence or OutsideEvidence()).report()


def judge_stream(
    stream: BinaryIO, *, levels: frozenset[int] = ALL_LEVELS, evidence: OutsideEvidence | None = None
) -> Report:
    """Judge a bare ledger."""
    return _Judgment(lambda: nullcontext(stream), None, levels, evidence or OutsideEvidence()).report()


class _Judgment:
    def __init__(
        self,
        open_ledger: Callable[[], AbstractContextManager[BinaryIO]],
        directory: Path | None,
        levels: frozenset[int],
        evidence: OutsideEvidence,
    ) -> None:
        self._open_ledger = open_ledger
        self._directory = directory
        self._levels = levels | {1, 2}
        self._evidence = evidence
        self._findings = Findings()
        # Why a level is not checked.
        self._reasons = {level: "not requested" for level in LEVELS if level not in self._levels}

    def report(self) -> Report:
        seals = Seals(self._witnesses())
        with self._open_ledger() as stream:
            first_pass = read_ledger(stream, seals, self._findings)
        if self._findings.count:
            for level in (3, 4, 5):
                self._reasons.setdefault(level, "level 1 or 2 failed")
        else:
            self._check_bodies(first_pass)
            self._check_seals(seals, first_pass)
        root = seals.tree.root().hex() if first_pass.entries else None
        facts = Facts(first_pass.run, first_pass.status, first_pass.entries, first_pass.head, root, first_pass.redacted)
        levels = tuple(level_result(level, self._findings, self._reasons.get(level)) for level in LEVELS)
        return Report(facts, levels, self._findings, tuple(seals.matching))

    def _witnesses(self) -> Iterator[Witness]:
        path = self._directory / "checkpoint" if self._directory else None
        if path and path.is_file():
            with path.open("rb") as stream:
                yield read_witness("directory", stream.read(MAX_BYTES + 1))
        elif path and os.path.lexists(path):
            # Not a regular file, or a link that does not lead to one: do not open it, and report it as malformed.
            yield read_witness("directory", b"")
        if self._evidence.checkpoint is not None:
            yield read_witness("given", self._evidence.checkpoint)
        if self._evidence.pin is not None:
            yield Witness("pin", self._evidence.pin)

    def _check_bodies(self, first_pass: FirstPass) -> None:
        if not self._levels & {3, 4}:
            return
        if self._directory is None:
            for level in (3, 4):
                self._reasons.setdefault(level, "needs the run directory")
            return
        findings = Findings()
        references = BodyReferences(findings)
        for entry in self._entries(first_pass.entries):
            references.check(entry)
        path = self._directory / "bodies.tar"
        if not path.is_file():
            self._report_broken("bodies.tar is missing or not a regular file")
            self._reasons.setdefault(
                4, "the wave plan is missing" if references.wave_plan else "the ledger has no wave plan"
            )
            return
        with path.open("rb") as stream:
            scanned = archive.scan(stream)
            store = Store(scanned, stream)
            if is_broken(scanned, store, references):
                self._report_broken(
                    f"byte {scanned.stopped_at} of bodies.tar is the start of neither a member nor the end"
                )
            elif 3 in self._levels:
                check_members(scanned, store, references, findings, ends_with_seal=first_pass.ends_with_seal)
                check_copies(self._directory, store, references, findings, ends_with_seal=first_pass.ends_with_seal)
                if set(findings.codes()) <= {"L310"}:
                    check_order(scanned, references, findings)
                self._findings.merge(findings)
            self._check_semantics(store, references, first_pass.entries)

    def _report_broken(self, sentence: str) -> None:
        """Report L301. The caller skips the other checks of level 3."""
        if 3 in self._levels:
            self._findings.add("L301", None, sentence)

    def _check_semantics(self, store: Store, references: BodyReferences, entries: int) -> None:
        if 4 not in self._levels:
            return
        body = references.wave_plan
        wave_plan = store.read(body) if body else None
        if wave_plan is None:
            self._reasons[4] = (
                "the wave plan is redacted, missing or altered" if body else "the ledger has no wave plan"
            )
            return
        semantics = SemanticsCheck(store, wave_plan)
        for entry in self._entries(entries):
            if finding := semantics.check(entry):
                self._findings.add_finding(finding)
                return

    def _check_seals(self, seals: Seals, first_pass: FirstPass) -> None:
        if 5 not in self._levels:
            return
        seals.finish(ends_with_seal=first_pass.ends_with_seal, torn_bytes=first_pass.torn_bytes)
        seals.compare_witnesses(first_pass.run, self._evidence.key)
        if self._evidence.expected_head is not None:
            seals.compare_head(first_pass.head, self._evidence.expected_head)
        self._findings.merge(seals.findings)

    def _entries(self, count: int) -> Iterator[Entry]:
        """Read the entries again, without those that were appended after the first pass."""
        with self._open_ledger() as stream:
            for line in islice(Lines(stream), count):
                yield json.loads(line.content or b"")
