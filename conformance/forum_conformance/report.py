"""The judge's report: the document of verify-report.schema.json, and text for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forum_conformance.finding import INCOMPLETE_CODES, MAX_ITEMS, Findings
from forum_conformance.seal import MatchingCheckpoint

LEVELS = {1: "bytes", 2: "chain", 3: "bodies", 4: "semantics", 5: "seal"}


class Verdict(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"


class Status(StrEnum):
    OK = "ok"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Level:
    number: int
    status: Status
    first_bad_seq: int | None
    reason: str | None
    """Why it was not checked."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The ledger's run, size, status and hashes."""

    run: str | None
    status: str | None
    entries: int
    head: str | None
    root: str | None
    redacted: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """A record that is not a ledger: its apparent format, the signs of that format, and notes."""

    format: str
    signs: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    facts: Facts
    levels: tuple[Level, ...]
    findings: Findings
    checkpoints: tuple[MatchingCheckpoint, ...]
    foreign: Foreign | None = None
    notes: tuple[str, ...] = ()
    """Sentences for people about the likely cause of the findings."""
    is_import: bool = False
    """Imported from records of another program: the seal's status only says that the import succeeded."""

    @property
    def verdict(self) -> Verdict:
        codes = set(self.findings.codes())
        if codes - INCOMPLETE_CODES:
            return Verdict.INVALID
        return Verdict.INCOMPLETE if codes else Verdict.VALID


def level_result(number: int, findings: Findings, reason: str | None) -> Level:
    codes = set(findings.codes(number))
    if reason is not None:
        status = Status.NOT_CHECKED
    elif codes - INCOMPLETE_CODES:
        status = Status.FAIL
    else:
        status = Status.INCOMPLETE if codes else Status.OK
    return Level(number, status, findings.first_bad_seq(number), reason)


def report_document(report: Report) -> dict[str, Any]:
    facts, findings, foreign = report.facts, report.findings, report.foreign
    foreign_document = (
        {"format": foreign.format, "signs": list(foreign.signs), "notes": list(foreign.notes)} if foreign else None
    )
    return {
        "format": 1,
        "verdict": report.verdict.value,
        "run": facts.run,
        "status": facts.status,
        "entries": facts.entries,
        "head": facts.head,
        "root": facts.root,
        "redacted": facts.redacted,
        "first_bad_seq": findings.first_bad_seq(),
        "codes": findings.codes(),
        "levels": [_level_document(level) for level in report.levels],
        "findings": [
            {"code": finding.code, "level": finding.level, "seq": finding.seq, "sentence": finding.sentence}
            for finding in findings.items
        ],
        "more_findings": max(0, findings.count - MAX_ITEMS),
        "checkpoints": _checkpoint_documents(report.checkpoints),
        **({"foreign": foreign_document} if foreign_document else {}),
    }


def _level_document(level: Level) -> dict[str, Any]:
    return {
        "level": level.number,
        "name": LEVELS[level.number],
        "status": level.status.value,
        "first_bad_seq": level.first_bad_seq,
        "reason": level.reason,
    }


def _checkpoint_documents(checkpoints: Sequence[MatchingCheckpoint]) -> list[dict[str, Any]]:
    return [
        {"source": checkpoint.source, "size": checkpoint.size, "signed_by": checkpoint.signed_by}
        for checkpoint in checkpoints
    ]


def report_text(report: Report) -> str:
    return "".join(f"{printable(line)}\n" for line in _text_lines(report))


def printable(line: str) -> str:
    """Escape control characters: a name in a ledger may contain terminal escape sequences."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


def _text_lines(report: Report) -> Iterator[str]:
    yield f"{report.verdict}: {describe_record(report)}"
    for level in report.levels:
        detail = f": {level.reason}" if level.reason else ""
        if level.first_bad_seq is not None:
            detail = f", first failure at seq {level.first_bad_seq}"
        yield f"  {level.number} {LEVELS[level.number]:<9}  {level.status}{detail}"
    for checkpoint in report.checkpoints:
        signed = f", signed by {checkpoint.signed_by}" if checkpoint.signed_by else ""
        yield f"  checkpoint ({checkpoint.source}) of {entries_text(checkpoint.size)} matches{signed}"
    for finding in report.findings.items:
        place = "" if finding.seq is None else f" at seq {finding.seq}"
        yield f"{finding.code}{place}: {finding.sentence}"
    if more := max(0, report.findings.count - MAX_ITEMS):
        yield f"and {more} more finding{'s' * (more != 1)}"
    if report.foreign:
        yield from (f"evidence: {sign}" for sign in report.foreign.signs)
        yield from (f"note: {note}" for note in report.foreign.notes)
    yield from (f"note: {note}" for note in report.notes)


def describe_record(report: Report) -> str:
    """A short description of the judged record."""
    facts = report.facts
    if report.foreign and report.foreign.format != "empty":
        return f"not a forum ledger: {_FORMAT_DESCRIPTIONS[report.foreign.format]}"
    words = [entries_text(facts.entries), f"run {facts.run}" if facts.run else "no run"]
    status = "imported" if report.is_import and facts.status else facts.status
    return ", ".join([*words, status or "not sealed"])


def entries_text(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


_FORMAT_DESCRIPTIONS = {
    "forum-engine": "it looks like a forum-engine ledger",
    "symposium": "it looks like a symposium artifact",
    "otel": "it looks like an OpenTelemetry trace (OTLP JSON)",
    "run-part": "it is a part of a run directory",
    "packed": "it is an archive or a packed file",
    "utf-16": "it is text in UTF-16",
    "json": "it is a JSON document of an unknown kind",
    "json-lines": "it is a JSON Lines file of an unknown kind",
    "not-json": "it is not JSON",
}
