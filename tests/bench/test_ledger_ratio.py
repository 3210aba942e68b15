"""Compare verifying and writing with the minimum work: 100,000 entries, each with a body of 300 bytes."""

import asyncio
import gc
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.ledgers_to_measure import write_ledger
from bench.measure import best_of, print_ratio
from forum_conformance.judge import judge
from forum_runner.ledger import Body, GroupCommit, VerifyRequest, create_ledger, verify
from forum_runner.ledger.source import ledger_at

pytestmark = pytest.mark.bench
ENTRIES = 100_000
APPENDS = 2_000
WRITE_SIZES = (1024, 418)  # the bytes of one archive member and of one ledger line


@pytest.fixture(autouse=True)
def _freeze_garbage_collector() -> None:
    """Hide the test runner's many objects from the garbage collector."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ledger(tmp_path_factory.mktemp("bench"), ENTRIES)


def cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def hash_lines(path: Path) -> bytes:
    digest = b""
    with path.open("rb") as stream:
        for line in stream:
            digest = hashlib.sha256(b"\0" + line[:-1]).digest()
    return digest


def hash_members(path: Path) -> str:
    """Read the archive once, and hash each member."""
    digest = ""
    with path.open("rb", 1 << 20) as stream:
        while (head := stream.read(512)).strip(b"\0"):
            size = int(head[124:135], 8)
            content = stream.read(size + -size % 512)
            digest = hashlib.sha256(content[:size]).hexdigest()
    return digest


def check(run_dir: Path, *levels: int) -> None:
    assert not verify(ledger_at(run_dir), VerifyRequest(frozenset(levels))).codes


def test_levels_1_2_and_5_take_at_most_7_times_one_pass_of_hashing(run_dir: Path) -> None:
    times = best_of(
        {
            "verify": lambda: cpu(lambda: check(run_dir, 1, 2, 5)),
            "hash": lambda: cpu(lambda: hash_lines(run_dir / "ledger.jsonl")),
        }
    )
    print_ratio("levels 1, 2, 5", times, times["verify"] / times["hash"], 7)
    assert times["verify"] <= 7 * times["hash"]


def test_level_3_takes_at_most_5_times_one_pass_over_the_archive(run_dir: Path) -> None:
    """Measures the time that level 3 adds to levels 1 and 2."""
    times = best_of(
        {
            "with": lambda: cpu(lambda: check(run_dir, 1, 2, 3)),
            "without": lambda: cpu(lambda: check(run_dir, 1, 2)),
            "hash": lambda: cpu(lambda: hash_members(run_dir / "bodies.tar")),
        }
    )
    added_s = times["with"] - times["without"]
    print_ratio("level 3", times, added_s / times["hash"], 5)
    assert added_s <= 5 * times["hash"]


def test_all_levels_are_at_least_15_times_as_fast_as_the_judge(run_dir: Path) -> None:
    times = best_of({"verify": lambda: cpu(lambda: check(run_dir, 1, 2, 3, 4, 5))}, rounds=3)
    times["judge"] = cpu(lambda: judge(run_dir))
    print_ratio("judge/verify, at least", times, times["judge"] / times["verify"], 15)
    assert times["judge"] >= 15 * times["verify"]


# `ru_maxrss` would start with the parent's value.
PEAK_FUNCTION = """
import os, re, sys
from pathlib import Path
def peak():
    return int(re.search('VmHWM:[^0-9]*([0-9]+) kB', Path('/proc/self/status').read_text())[1]) * 1024
"""
VERIFY_PROGRAM = """
from forum_runner.ledger import ledger_at, verify
assert not verify(ledger_at(Path(sys.argv[1]))).codes
print(peak())
"""
INDEX_PROGRAM = """
from forum_runner.ledger.body_index import BodyIndex
from forum_runner.ledger.entries import Entry
from forum_runner.ledger.entry_values import BodyReference
index, before = BodyIndex(), peak()
for seq in range(int(sys.argv[1])):
    body = BodyReference(digest=os.urandom(32).hex(), bytes=300, type="text/plain")
    index.add(seq, Entry("runner", "", {"text": body}, (), {}, "x-note", "", "", seq, 1))
print(peak() - before)
"""


def peak_bytes(program: str, argument: object) -> int:
    """Return the number that the program prints in its own process."""
    command = [sys.executable, "-c", PEAK_FUNCTION + program, str(argument)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.requirement("LEDGER-VERIFY-004")
def test_memory_does_not_grow_with_the_ledger(run_dir: Path, tmp_path: Path) -> None:
    large_dir = write_ledger(tmp_path, 10 * ENTRIES)
    peaks = peak_bytes(VERIFY_PROGRAM, run_dir), peak_bytes(VERIFY_PROGRAM, large_dir)
    indices = peak_bytes(INDEX_PROGRAM, ENTRIES), peak_bytes(INDEX_PROGRAM, 10 * ENTRIES)
    without_index = [peak - index for peak, index in zip(peaks, indices, strict=True)]
    ratio = without_index[1] / without_index[0]

    print(f"\nmemory: {peaks[0]:,} bytes, including an index of {indices[0]:,}")
    print(f"ten times the entries: {peaks[1]:,}, index {indices[1]:,}; ratio {ratio:.2f}, limit 1.2")
    assert ratio <= 1.2


def appends_per_s(folder: Path, appenders: int) -> float:
    """Return the rate of appenders that each wait for one entry to be on disk before they append the next."""
    data = os.urandom(300)
    appends_each = APPENDS if appenders == 1 else 10 * APPENDS // appenders

    async def append(group: GroupCommit, appender: int) -> None:
        for number in range(appends_each):
            body = Body(b"%d %d " % (appender, number) + data)
            await group.append("x-note", {"number": number}, bodies={"text": body}, causes=[0])

    async def append_all(group: GroupCommit) -> None:
        await asyncio.gather(*(append(group, number) for number in range(appenders)))

    with create_ledger(folder / f"run-{time.monotonic_ns()}") as ledger:
        before = time.perf_counter()
        asyncio.run(append_all(GroupCommit(ledger)))
        return appends_each * appenders / (time.perf_counter() - before)


def synchronous_appends_per_s(folder: Path) -> float:
    """Return the rate of one appender without an event loop."""
    data = os.urandom(300)
    with create_ledger(folder / f"run-{time.monotonic_ns()}") as ledger:
        before = time.perf_counter()
        for number in range(APPENDS):
            ledger.append("x-note", {"number": number}, bodies={"text": Body(b"%d " % number + data)}, causes=[0])
        return APPENDS / (time.perf_counter() - before)


def bare_writes_per_s(folder: Path) -> float:
    """Return the rate of a loop that writes and syncs as many bytes to two files."""
    descriptors = [os.open(folder / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) for name in ("a", "b")]
    before = time.perf_counter()
    for _ in range(APPENDS):
        for descriptor, size in zip(descriptors, WRITE_SIZES, strict=True):
            os.write(descriptor, bytes(size))
            os.fdatasync(descriptor)
    rate = APPENDS / (time.perf_counter() - before)
    for descriptor in descriptors:
        os.close(descriptor)
    return rate


def test_fifty_appenders_reach_ten_times_the_rate_of_one(tmp_path: Path) -> None:
    """Wall time, because appenders wait for the disk. The median, because disk speed varies."""
    rounds = [(appends_per_s(tmp_path, 1), appends_per_s(tmp_path, 50)) for _ in range(7)]
    ratio = sorted(fifty / one for one, fifty in rounds)[3]

    print(f"\nappends/s (one, fifty): {[tuple(round(rate) for rate in rates) for rates in rounds]}")
    print(f"fifty/one {ratio:.1f}, at least 10")
    assert ratio >= 10


def test_one_appender_reaches_three_quarters_of_the_bare_write_rate(tmp_path: Path) -> None:
    rounds = [(bare_writes_per_s(tmp_path), synchronous_appends_per_s(tmp_path)) for _ in range(7)]
    ratio = sorted(one / bare for bare, one in rounds)[3]

    print(f"\nappends/s (bare, one): {[tuple(round(rate) for rate in rates) for rates in rounds]}")
    print(f"one/bare {ratio:.2f}, at least 0.75")
    assert ratio >= 0.75
