"""Check a run directory after a crash, with both verifiers and tarfile."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from faults.numbered import append_numbered, content_of, data_of
from forum_conformance.judge import judge
from forum_runner.api import TrustedReferences
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger import Durability, LedgerWriter, VerifyReport, open_ledger
from forum_runner.ledger.source import ledger_at
from forum_runner.ledger.verification.report import UNFINISHED_CODES

LEVELS = frozenset({1, 2, 3, 5})
SALT_BYTES = 32
JUDGE_INTERVAL = 1 if "FORUM_FAULT_ROUNDS" in os.environ else 10
LATER_NUMBERS = range(1_000_000, 1_000_003)
_verifications = count()

Acknowledged = Iterable[tuple[int, int]]


def verification_report(directory: Path) -> VerifyReport:
    """Verify all levels except 4. One in `JUDGE_INTERVAL` calls also requires the same codes from the slow judge."""
    report = verify_ledger(ledger_at(directory), LEVELS, TrustedReferences())
    if next(_verifications) % JUDGE_INTERVAL == 0:
        assert set(report.codes) == set(judge(directory, levels=LEVELS).findings.codes())
    return report


def check_unfinished(directory: Path, *, allowed_codes: frozenset[str] = frozenset()) -> None:
    """Assert that the ledger is valid or incomplete, apart from findings with `allowed_codes`."""
    report = verification_report(directory)
    unexpected = [finding for finding in report.findings if finding.code not in UNFINISHED_CODES | allowed_codes]
    assert unexpected == []


def resume_and_seal(directory: Path, acknowledged: Acknowledged = ()) -> None:
    """Reopen the ledger, append, seal, and check that it is valid and has every acknowledged entry."""
    seqs = []
    with open_ledger(directory, durability=Durability.NONE) as ledger:
        seqs += [(append_numbered(ledger.append, number), number) for number in LATER_NUMBERS]
        seal(ledger)
    check_valid(directory)
    check_acknowledged(directory, [*acknowledged, *seqs])


def seal(ledger: LedgerWriter) -> int:
    return ledger.seal("passed")


def check_valid(directory: Path) -> None:
    report = verification_report(directory)
    assert report.findings == ()
    assert [level.status for level in report.levels] == ["ok", "ok", "ok", "not checked", "ok"]


def check_acknowledged(directory: Path, acknowledged: Acknowledged) -> None:
    """Assert that every acknowledged entry has its seq, its data and its bodies."""
    entries = entries_in(directory)
    bodies = bodies_in(directory)
    for seq, number in acknowledged:
        entry = entries[seq]
        assert (entry["seq"], entry["data"]) == (seq, data_of(number))
        assert {name: bodies[body["digest"]] for name, body in entry["bodies"].items()} == content_of(number)


def entries_in(directory: Path) -> list[dict[str, Any]]:
    """The complete entries of a ledger."""
    return [json.loads(line) for line in (directory / "ledger.jsonl").read_bytes().split(b"\n")[:-1]]


def bodies_in(directory: Path) -> dict[str, bytes]:
    """The bodies by digest, without salts and without redacted bodies."""
    bodies = {}
    with tarfile.open(directory / "bodies.tar", "r:") as archive:
        for member in archive:
            folder, _, digest = member.name.partition("/")
            stream = archive.extractfile(member)
            assert stream is not None
            if folder != "redacted":
                bodies[digest] = stream.read()[SALT_BYTES if folder == "salted" else 0 :]
    return bodies


def bytes_in(directory: Path) -> dict[str, bytes]:
    """The contents of all files of a run directory by path."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
