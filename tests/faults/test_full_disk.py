"""A full disk stops the writer and damages nothing. Once there is space, the ledger can be resumed."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from faults.aftermath import Acknowledged, check_unfinished, entries_in, resume_and_seal, verification_report
from faults.numbered import append_numbered
from faults.process import Acknowledge, Process
from forum_runner.errors import UsageError
from forum_runner.ledger import Body, LedgerBrokenError, LedgerWriter, Verdict, create_ledger

pytestmark = pytest.mark.requirement("LEDGER-WRITE-004", "LEDGER-TORN-001", "LEDGER-TORN-002")

FILE_SIZE_LIMITS = range(400, 12_000, 331)


def append_with_bodies(ledger: LedgerWriter, number: int) -> int:
    seq: int = append_numbered(ledger.append, number)
    return seq


def append_without_bodies(ledger: LedgerWriter, number: int) -> int:
    """Append only numbers that are multiples of five: they have no bodies, so that only the ledger file grows."""
    return append_with_bodies(ledger, 5 * number)


def write_until_full(directory: Path, append: Callable[[LedgerWriter, int], int], acknowledge: Acknowledge) -> None:
    """Append until the writer breaks, and check that it then refuses everything."""
    try:
        ledger = create_ledger(directory)
    except LedgerBrokenError:
        return
    with pytest.raises(LedgerBrokenError):
        for number in count(1):
            seq = append(ledger, number)
            acknowledge(seq, number if append is append_with_bodies else 5 * number)
    with pytest.raises(LedgerBrokenError):
        ledger.append("x-more")
    with pytest.raises(LedgerBrokenError):
        ledger.seal("passed")
    ledger.close()


def check_can_be_resumed(directory: Path, acknowledged: Acknowledged) -> None:
    if not directory.joinpath("ledger.jsonl").exists():
        create_ledger(directory).close()
    assert verification_report(directory).verdict is Verdict.INCOMPLETE
    resume_and_seal(directory, acknowledged)


@pytest.mark.parametrize("append", [append_with_bodies, append_without_bodies])
def test_a_file_size_limit_breaks_the_writer_but_not_the_ledger(
    tmp_path: Path, append: Callable[[LedgerWriter, int], int]
) -> None:
    for limit in FILE_SIZE_LIMITS:
        directory = tmp_path / str(limit)

        def work(acknowledge: Acknowledge, limit: int = limit, directory: Path = directory) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            write_until_full(directory, append, acknowledge)

        acknowledged = Process(work).finish()

        check_can_be_resumed(directory, acknowledged)


def test_a_large_body_that_does_not_fit_breaks_the_writer_but_not_the_ledger(tmp_path: Path) -> None:
    large = bytes(1_100_001)
    # The limit falls into the header, the data or the padding, or after all three.
    for free_bytes in (0, 100, 512, 600_000, 512 + len(large), 512 + len(large) + 100, 512 + len(large) + 512):
        directory = tmp_path / str(free_bytes)

        def work(acknowledge: Acknowledge, free_bytes: int = free_bytes, directory: Path = directory) -> None:
            ledger = create_ledger(directory)
            acknowledge(append_with_bodies(ledger, 1), 1)
            limit = directory.joinpath("bodies.tar").stat().st_size + free_bytes
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(LedgerBrokenError):
                for _ in range(2):
                    ledger.append("x-large", bodies={"large": Body(large), "small": Body(os.urandom(100))})
            ledger.close()

        acknowledged = Process(work).finish()

        check_can_be_resumed(directory, acknowledged)


def test_a_copy_that_does_not_fit_is_reported_and_written_once_there_is_space(tmp_path: Path) -> None:
    directory = tmp_path / "run"

    def work(acknowledge: Acknowledge) -> None:
        ledger = create_ledger(directory)
        for number in range(10):
            ledger.append("x-body", bodies={"body": Body(bytes([number]) * 1_000)})
        limit = directory.joinpath("bodies.tar").stat().st_size + 20_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        with pytest.raises((UsageError, LedgerBrokenError)):
            for number in count():
                ledger.answer(f"answer_{number}", Body.text("answer " * 2_000))
                ledger.append("x-body", bodies={"body": Body(os.urandom(100))})
        ledger.close()
        acknowledge(0, 0)

    Process(work).finish()
    check_unfinished(directory)
    resume_and_seal(directory)

    answers = [entry for entry in entries_in(directory) if entry["kind"] == "answer.given"]
    assert len(answers) == len(list(directory.joinpath("outputs").iterdir())) > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk requires root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("append", [append_with_bodies, append_without_bodies])
def test_a_full_disk_breaks_the_writer_but_not_the_ledger(
    small_disk: Path, append: Callable[[LedgerWriter, int], int]
) -> None:
    directory = small_disk / "run"

    acknowledged = Process(lambda acknowledge: write_until_full(directory, append, acknowledge)).finish()

    assert len(acknowledged) > 5
    assert verification_report(directory).verdict is Verdict.INCOMPLETE
    with pytest.raises(LedgerBrokenError, match="No space left on device"):
        resume_and_seal(directory)
    assert verification_report(directory).verdict is Verdict.INCOMPLETE

    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    check_can_be_resumed(directory, acknowledged)
