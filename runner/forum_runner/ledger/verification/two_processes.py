"""Verifies a long ledger in two processes: one checks lines and chain, the other bodies, story and seal.

Nothing but speed depends on it. Only if the first finds nothing at all do the results of the second count; otherwise,
and where two processes cannot be had, the ledger is verified in one, as ever.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import VerifyReport
from forum_runner.ledger.verification.verifier import Request, Verification, beside_its_checkpoint, verify

_WORTH_BYTES = 4_000_000
_PR_SET_PDEATHSIG = 1


def verify_quickly(source: LedgerSource, request: Request) -> VerifyReport:
    """As `verify`. It forks: call it where no thread is running."""
    request = beside_its_checkpoint(source, request)
    report = _verify_in_two(source, request) if _is_worth_it(source) else None
    return report if report is not None else verify(source, request)


def _is_worth_it(source: LedgerSource) -> bool:
    if source.path is None or not source.path.is_file() or not hasattr(os, "sched_getaffinity"):
        return False
    return source.path.stat().st_size >= _WORTH_BYTES and len(os.sched_getaffinity(0)) > 1


def _verify_in_two(source: LedgerSource, request: Request) -> VerifyReport | None:
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no room for another process
        os.close(reading)
        os.close(writing)
        return None
    if child == 0:
        _answer(writing, source)
    os.close(writing)
    report: VerifyReport | None
    try:
        report = Verification(source, request, trusts_lines=True).run()
    except Exception:  # what level 1 would have found: lines that are not entries
        report = None
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    with os.fdopen(reading, "rb") as answer:
        head = answer.read().decode()
    os.waitpid(child, 0)
    return report if report is not None and head == report.head else None


def _answer(writing: int, source: LedgerSource) -> None:
    """In the other process, which ends here, whatever happens: the head of the ledger, if its lines and chain hold."""
    try:
        _die_with_the_parent()
        report = verify(source, Request(frozenset({1, 2}), wants_own_checkpoint=False))
        if not report.codes and report.head is not None:
            os.write(writing, report.head.encode())
    finally:
        os._exit(0)


def _die_with_the_parent() -> None:
    """Where the system can do that: a parent that is killed would otherwise leave this process to its work."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
