"""Verifies a long ledger in two processes: one checks lines and bodies, the other the chain, the story and the seal.

Nothing but speed depends on it. Only if the first finds nothing at all do the results of the second count; otherwise,
and where two processes cannot be had, the ledger is verified in one, as ever.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

from forum_runner.ledger.body_index import BodyIndex
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.bodies_level import UnreadableArchive, check_bodies
from forum_runner.ledger.verification.bytes_level import LineFault, LineReader
from forum_runner.ledger.verification.copies import Copies
from forum_runner.ledger.verification.report import Findings, VerifyReport
from forum_runner.ledger.verification.verifier import Request, Verification, verify

_WORTH_BYTES = 4_000_000


def verify_quickly(source: LedgerSource, request: Request) -> VerifyReport:
    """As `verify`. It forks: call it where no thread is running."""
    report = _verify_in_two(source, request) if _is_worth_it(source) else None
    return report if report is not None else verify(source, request)


def _is_worth_it(source: LedgerSource) -> bool:
    if source.path is None or not source.path.is_file() or not hasattr(os, "sched_getaffinity"):
        return False
    return source.path.stat().st_size >= _WORTH_BYTES and len(os.sched_getaffinity(0)) > 1


def _verify_in_two(source: LedgerSource, request: Request) -> VerifyReport | None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(writing, source, wants_bodies=3 in request.levels and source.directory is not None)
    os.close(writing)
    report: VerifyReport | None
    try:
        report = Verification(source, request, trusts_lines=True).run()
    except Exception:  # what level 1 would have found: lines that are not entries
        report = None
    with os.fdopen(reading, "rb") as answer:
        held: dict[str, Any] = json.loads(answer.read() or b"{}")
    os.waitpid(child, 0)
    if report is None or held.get("entries") != report.entries:
        return None
    return replace(report, redacted=held["redacted"])


def _answer(writing: int, source: LedgerSource, *, wants_bodies: bool) -> None:
    """In the other process, which ends here, whatever happens."""
    try:
        held = _what_holds(source, wants_bodies=wants_bodies)
        os.write(writing, json.dumps(held).encode())
    finally:
        os._exit(0)


def _what_holds(source: LedgerSource, *, wants_bodies: bool) -> dict[str, int]:
    """How many entries there are, and redacted bodies; nothing if levels 1 and 3 find anything."""
    read, index, copies, findings = LineReader().read, BodyIndex(), Copies(), Findings()
    entries, kind = 0, ""
    with source.lines() as lines:
        for line in lines:
            try:
                entry = read(line)
            except LineFault:
                return {}
            kind = entry["kind"]
            if wants_bodies:
                copies.look(entries, entry)
                if index.look(entries, entry):
                    return {}
            entries += 1
    if wants_bodies and source.directory is not None:
        is_sealed = kind == "run.sealed"
        path = source.directory / BODIES
        try:
            check_bodies(index, path, findings, is_sealed=is_sealed)
        except UnreadableArchive:
            return {}
        with path.open("rb") as stream:
            copies.check(source.directory, index, BodyReader(stream), findings, is_sealed=is_sealed)
    return {} if findings.codes else {"entries": entries, "redacted": len(index.redacted)}
