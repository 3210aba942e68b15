"""The judge's memory does not grow with the ledger or with its bodies."""

import tracemalloc
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from fake_ledger.files import Body
from fake_ledger.ledger_builder import LedgerBuilder
from fake_ledger.run_builder import OPENED
from forum_conformance.judge import judge_stream
from forum_conformance.report import Report
from unit.conformance.judged_run import SEALED, findings, judge_directory, ledger_with

MEBIBYTE = 1 << 20


def peak_of(work: Callable[[], Report]) -> int:
    tracemalloc.start()
    try:
        assert findings(work()) == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.requirement("LEDGER-VERIFY-004")
def test_a_long_ledger_needs_little_memory() -> None:
    ledger = LedgerBuilder()
    ledger.add("run.opened", OPENED)
    for _ in range(300):
        ledger.add("x-note", {"text": "x" * 60_000})
    ledger.add("run.sealed", SEALED)
    content = BytesIO(b"".join(line + b"\n" for line in ledger.lines()))

    assert peak_of(lambda: judge_stream(content)) < 4 * MEBIBYTE


@pytest.mark.requirement("LEDGER-VERIFY-004")
def test_a_large_body_needs_little_memory(tmp_path: Path) -> None:
    bodies = [Body(b"x" * (16 * MEBIBYTE)), Body(b"y" * (16 * MEBIBYTE), salt=bytes(range(32)))]
    directory = ledger_with(*bodies).write(tmp_path)

    assert peak_of(lambda: judge_directory(directory)) < 4 * MEBIBYTE


@pytest.mark.requirement("LEDGER-VERIFY-004")
def test_a_very_long_line_is_not_kept_in_memory() -> None:
    stream = BytesIO(b"x" * (16 * MEBIBYTE) + b"\n")

    tracemalloc.start()
    try:
        report = judge_stream(stream)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert findings(report) == [("L101", 0)]
    assert peak < 4 * MEBIBYTE
