"""The judge's report on a record that is not a ledger: its format, and the checks that were made."""

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
from forum_conformance.report import LEVELS, Facts, Foreign, Report, level_of

_NOT_OURS = "it is not a ledger of this format"
_NO_LEVEL = "this is not one of the five levels"
_LEDGER = "ledger.jsonl"
_ADVICE = {
    Format.RUN_PART: "it is part of a run directory and proves nothing alone: judge the directory",
    Format.PACKED: "unpack it, and judge the run directory or the ledger in it",
    Format.UTF_16: "a ledger is UTF-8: judge the original, or convert it back",
}
_IMPORTED = frozenset({Format.FORUM_ENGINE, Format.SYMPOSIUM, Format.OTEL})


@dataclass(frozen=True, slots=True)
class Found:
    """A foreign record: its head, its stream, its path if it is a file, and its name."""

    recognized: RecognizedFormat
    head: bytes
    stream: BinaryIO
    path: Path | None = None
    name: str = "SOURCE"


def report_on(found: Found) -> Report:
    findings = Findings()
    findings.take(_first_finding(found.head))
    reasons = dict.fromkeys((2, 3, 4, 5), _NOT_OURS)
    levels = tuple(level_of(level, findings, reasons.get(level)) for level in LEVELS)
    facts = Facts(None, None, 0, None, None, 0)
    return Report(facts, levels, findings, (), foreign_of(found))


def foreign_of(found: Found) -> Foreign:
    recognized = found.recognized
    return Foreign(recognized.format.value, (recognized.sign,), tuple(_notes(found)))


def _first_finding(head: bytes) -> Finding:
    """Level 1's finding for the first line. A record without a line end has no line and no entry."""
    for line in Lines(BytesIO(head)):
        found = read_entry(line)
        if isinstance(found, Finding):
            return found
        break
    return Finding("L102", 0, "no complete line: the file contains no newline")


def _notes(found: Found) -> Iterator[str]:
    format_ = found.recognized.format
    if format_ is Format.EMPTY:
        yield "its format is unknown: an empty ledger, or not a ledger"
        return
    if format_ in _ADVICE:
        yield _ADVICE[format_]
        yield from _beside(found)
        return
    yield from _own_hashes(found)
    if format_ in _IMPORTED:
        yield f"to convert it to a ledger: forum import {shlex.quote(found.name)}"
    else:
        yield "forum import does not support it; use the program that wrote it"
        yield from _beside(found)


def _beside(found: Found) -> Iterator[str]:
    """The run directory that contains the given file, if any."""
    if found.path and found.path.name != _LEDGER and (found.path.parent / _LEDGER).is_file():
        folder = found.path.parent
        yield f"it belongs to a run directory; to judge the run: forum-conformance judge {folder}"


def _own_hashes(found: Found) -> Iterator[str]:
    format_ = found.recognized.format
    if format_ is Format.FORUM_ENGINE:
        yield from _engine_notes(found)
    elif format_ is Format.SYMPOSIUM and b'"canonical_transcript"' in found.head:
        yield f"{check_transcript(found.stream)}; {_NO_LEVEL}"
    elif format_ is Format.SYMPOSIUM:
        yield "its journal has no digests, so nothing was checked"
    elif format_ is Format.OTEL:
        yield "traces have no digests, so nothing was checked"


def _engine_notes(found: Found) -> Iterator[str]:
    chain = check_chain(found.stream)
    if chain.fault:
        yield f"its own chain of hashes is invalid: {chain.fault}; {_NO_LEVEL}"
    else:
        yield f"its own chain of hashes is valid, {chain.entries} entries, recomputed; {_NO_LEVEL}"
    payloads = found.path.with_name(PAYLOADS) if found.path else None
    if payloads and payloads.is_file() and not chain.fault:
        yield check_payloads(payloads, chain.payloads)
    else:
        yield f"its bodies were not checked: {'its chain is invalid' if chain.fault else f'{PAYLOADS} is missing'}"
    yield "its chain has no seal: truncation and a complete rewrite would go undetected"
