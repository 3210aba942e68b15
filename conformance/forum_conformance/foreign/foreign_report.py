"""The judge's report on a record that is not a ledger: its format, and checks of its own hashes."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from forum_conformance.entry import read_entry
from forum_conformance.finding import Finding, Findings
from forum_conformance.foreign.forum_engine import PAYLOADS, check_chain, check_payloads
from forum_conformance.foreign.recognition import Format, RecognizedFormat
from forum_conformance.foreign.symposium import check_transcript
from forum_conformance.lines import Lines
from forum_conformance.report import LEVELS, Facts, Foreign, Report, level_result

_NOT_A_LEDGER = "it is not a ledger of this format"
_NOT_A_LEVEL = "this check is not part of the five levels"
_LEDGER = "ledger.jsonl"
_ADVICE = {
    Format.RUN_PART: "it is part of a run directory and proves nothing alone: judge the directory",
    Format.PACKED: "unpack it, and judge the run directory or the ledger in it",
    Format.UTF_16: "a ledger is UTF-8: judge the original, or convert it back",
}
_IMPORTABLE = frozenset({Format.FORUM_ENGINE, Format.SYMPOSIUM, Format.OTEL})


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """A record that is not a ledger: its format, first bytes, whole stream, path (if it is a file) and name."""

    recognized: RecognizedFormat
    head: bytes
    stream: BinaryIO
    path: Path | None = None
    name: str = "SOURCE"


def report_foreign(record: ForeignRecord) -> Report:
    findings = Findings()
    findings.add_finding(_first_finding(record.head))
    reasons = dict.fromkeys((2, 3, 4, 5), _NOT_A_LEDGER)
    levels = tuple(level_result(level, findings, reasons.get(level)) for level in LEVELS)
    facts = Facts(None, None, 0, None, None, 0)
    return Report(facts, levels, findings, (), describe_foreign(record))


def describe_foreign(record: ForeignRecord) -> Foreign:
    recognized = record.recognized
    return Foreign(recognized.format.value, (recognized.sign,), tuple(_notes(record)))


def _first_finding(head: bytes) -> Finding:
    """The finding of level 1 for the first line. A record without a newline has no line and no entry."""
    for line in Lines(BytesIO(head)):
        result = read_entry(line)
        if isinstance(result, Finding):
            return result
        break
    return Finding("L102", 0, "no complete line: the file contains no newline")


def _notes(record: ForeignRecord) -> Iterator[str]:
    format_ = record.recognized.format
    if format_ is Format.EMPTY:
        yield "its format is unknown: an empty ledger, or not a ledger"
        return
    if format_ in _ADVICE:
        yield _ADVICE[format_]
        yield from _directory_note(record)
        return
    yield from _hash_notes(record)
    if format_ in _IMPORTABLE:
        yield f"to convert it to a ledger: forum import {shlex.quote(record.name)}"
    else:
        yield "forum import does not support it; use the program that wrote it"
        yield from _directory_note(record)


def _directory_note(record: ForeignRecord) -> Iterator[str]:
    """A note if the file is in a run directory."""
    if record.path and record.path.name != _LEDGER and (record.path.parent / _LEDGER).is_file():
        folder = record.path.parent
        yield f"it belongs to a run directory; to judge the run: forum-conformance judge {folder}"


def _hash_notes(record: ForeignRecord) -> Iterator[str]:
    format_ = record.recognized.format
    if format_ is Format.FORUM_ENGINE:
        yield from _engine_notes(record)
    elif format_ is Format.SYMPOSIUM and b'"canonical_transcript"' in record.head:
        yield f"{check_transcript(record.stream)}; {_NOT_A_LEVEL}"
    elif format_ is Format.SYMPOSIUM:
        yield "its journal has no digests, so nothing was checked"
    elif format_ is Format.OTEL:
        yield "traces have no digests, so nothing was checked"


def _engine_notes(record: ForeignRecord) -> Iterator[str]:
    chain = check_chain(record.stream)
    if chain.fault:
        yield f"its own chain of hashes is invalid: {chain.fault}; {_NOT_A_LEVEL}"
    else:
        yield f"its own chain of hashes is valid, {chain.entries} entries, recomputed; {_NOT_A_LEVEL}"
    payloads = record.path.with_name(PAYLOADS) if record.path else None
    if payloads and payloads.is_file() and not chain.fault:
        yield check_payloads(payloads, chain.payloads)
    else:
        yield f"its bodies were not checked: {'its chain is invalid' if chain.fault else f'{PAYLOADS} is missing'}"
    yield "its chain has no seal: truncation and a complete rewrite would go undetected"
