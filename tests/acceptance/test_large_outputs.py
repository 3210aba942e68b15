"""A large output is in memory only once while the ledger is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import PATIENCE_S, Folder, sh

LARGE_BYTES = 64_000_000
# As long as the text that replaces it: `[scrubbed: KEY]`.
KEY = "hunter42hunter4"
ROSTER: dict[str, Any] = {
    "adapters": {"shell": {"type": "command", "env": ["PATH", "KEY"], "max_output_bytes": 100_000_000}},
    "agents": {"operator": {"adapter": "shell"}},
}
# The peak of this process alone, without its children and the process it was forked from.
RUN_AND_PRINT_PEAK = """
from forum_runner.cli import main
try:
    main()
finally:
    with open("/proc/self/status", encoding="ascii") as stream:
        status = dict(line.split(":", 1) for line in stream)
    print(status["VmHWM"].split()[0])
"""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux reports the peak memory of a process"
)


def peak_bytes(folder: Folder, script: str, **policy: Any) -> int:
    """Run a workflow with one task, whose output is also written to a file, and return the peak memory."""
    folder.write({"big": sh(script)}, roster=ROSTER, outputs={"all": "big"}, policy=policy)
    command = [sys.executable, "-c", RUN_AND_PRINT_PEAK, "run", "workflow.yaml", "--out", "run", "--progress", "none"]
    environment = {"PATH": os.environ["PATH"], "KEY": KEY}
    result = subprocess.run(
        command, cwd=folder.path, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return int(result.stdout.split()[-1]) * 1024


@pytest.fixture(scope="module")
def small_peak(tmp_path_factory: pytest.TempPathFactory) -> int:
    return peak_bytes(Folder(tmp_path_factory.mktemp("small")), "echo small")


@pytest.mark.parametrize("trailing_newline", ["", r"\n"])
def test_an_output_within_its_limit_is_in_memory_once(tmp_path: Path, small_peak: int, trailing_newline: str) -> None:
    script = f"yes abcdefg | head -c {LARGE_BYTES - 1}; printf 'x{trailing_newline}'"

    peak = peak_bytes(Folder(tmp_path), script)

    assert (peak - small_peak) / LARGE_BYTES < 1.5
    written = (tmp_path / "run" / "outputs" / "all.txt").read_bytes()
    assert (len(written), written[-8:]) == (LARGE_BYTES, b"abcdefgx")


def test_non_ascii_output_needs_no_more_memory(tmp_path: Path, small_peak: int) -> None:
    peak = peak_bytes(Folder(tmp_path), f"yes äbcdef | head -c {LARGE_BYTES}")

    assert (peak - small_peak) / LARGE_BYTES < 1.5


def test_an_output_is_in_memory_twice_while_secrets_are_scrubbed(tmp_path: Path, small_peak: int) -> None:
    # Use a smaller output, because scrubbing is slow.
    size = LARGE_BYTES // 4

    peak = peak_bytes(Folder(tmp_path), f'yes "it is $KEY," | head -c {size}', privacy={"scrub_env": ["KEY"]})

    assert (peak - small_peak) / size < 2.2
    written = (tmp_path / "run" / "outputs" / "all.txt").read_bytes()
    assert written.startswith(b"it is [scrubbed: KEY],\nit is [scrubbed: KEY],\n")
    assert KEY.encode() not in written
