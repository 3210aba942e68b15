"""Compare `forum verify` with `ledger verify` of forum-engine 1.17: 100,000 entries each, including startup.

The figures are CPU times of processes. The other engine is installed in its own environment.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.ledgers_to_measure import write_ledger
from bench.measure import best_of, cpu_seconds, print_ratio

pytestmark = pytest.mark.bench
ENTRIES = 100_000
WRITE_THEIRS = f"""
import sys
from forum.ledger import Ledger
from forum.storage import FileStorage
ledger = Ledger(FileStorage(sys.argv[1], fsync_each=False))
for number in range({ENTRIES}):
    ledger.append(actor="worker", kind="note", payload={{"text": f"{{number}} ".ljust(300, ".")}})
ledger.sync()
"""


@pytest.fixture(scope="module")
def engine_bin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the executables of forum-engine, next to a ledger that it has written."""
    folder = tmp_path_factory.mktemp("engine")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    bin_ = folder / "venv" / "bin"
    subprocess.run([bin_ / "pip", "install", "--quiet", "forum-engine==1.17.*"], check=True)
    subprocess.run([bin_ / "python", "-c", WRITE_THEIRS, folder / "ledger"], check=True)
    return bin_


def peak_kib(command: list[str]) -> int:
    """Return the peak memory of one process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


def test_verifying_takes_no_more_cpu_time_and_less_memory_than_forum_engine(engine_bin: Path, tmp_path: Path) -> None:
    ours = [sys.executable, "-m", "forum_runner", "verify", str(write_ledger(tmp_path, ENTRIES))]
    theirs = [str(engine_bin / "forum"), "ledger", "verify", "--ledger", str(engine_bin.parents[1] / "ledger")]

    times = best_of(
        {"forum": lambda: cpu_seconds(ours, tmp_path), "forum-engine": lambda: cpu_seconds(theirs, tmp_path)}, rounds=3
    )
    memory = {"forum": peak_kib(ours), "forum-engine": peak_kib(theirs)}

    print_ratio("verify", times, times["forum"] / times["forum-engine"], 1)
    print(f"peak memory: {memory['forum']:,} KiB, forum-engine {memory['forum-engine']:,} KiB")
    assert times["forum"] <= times["forum-engine"]
    assert memory["forum"] < memory["forum-engine"]
