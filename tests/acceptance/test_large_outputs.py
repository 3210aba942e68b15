"""What a large output costs: the one copy of it that the record is written from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import PATIENCE_S, Folder, sh

LARGE_BYTES = 64_000_000
# As long as what takes its place.
KEY = "hunter42hunter4"
ROSTER: dict[str, Any] = {
    "adapters": {"shell": {"type": "command", "env": ["PATH", "KEY"], "max_output_bytes": 100_000_000}},
    "agents": {"operator": {"adapter": "shell"}},
}
# The peak of this process alone: what it waited for is no part of it, and neither is what it was forked from.
MEASURE = """
from forum_runner.cli import main
try:
    main()
finally:
    with open("/proc/self/status", encoding="ascii") as stream:
        told = dict(line.split(":", 1) for line in stream)
    print(told["VmHWM"].split()[0])
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process")


def peak_bytes(folder: Folder, script: str, **policy: Any) -> int:
    """Of a run of one task, whose output is the plan's."""
    folder.write({"big": sh(script)}, roster=ROSTER, outputs={"all": "big"}, policy=policy)
    command = [sys.executable, "-c", MEASURE, "run", "workflow.yaml", "--out", "run", "--progress", "none"]
    environment = {"PATH": os.environ["PATH"], "KEY": KEY}
    result = subprocess.run(
        command, cwd=folder.path, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return int(result.stdout.split()[-1]) * 1024


@pytest.fixture(scope="module")
def peak_of_a_small_one(tmp_path_factory: pytest.TempPathFactory) -> int:
    return peak_bytes(Folder(tmp_path_factory.mktemp("small")), "echo small")


@pytest.mark.parametrize("line_end", ["", r"\n"])
def test_an_output_within_its_limit_is_held_once(tmp_path: Path, peak_of_a_small_one: int, line_end: str) -> None:
    script = f"yes abcdefg | head -c {LARGE_BYTES - 1}; printf 'x{line_end}'"

    peak = peak_bytes(Folder(tmp_path), script)

    assert (peak - peak_of_a_small_one) / LARGE_BYTES < 1.5
    written = (tmp_path / "run" / "outputs" / "all.txt").read_bytes()
    assert (len(written), written[-8:]) == (LARGE_BYTES, b"abcdefgx")


def test_an_output_of_characters_beyond_ascii_costs_no_more(tmp_path: Path, peak_of_a_small_one: int) -> None:
    peak = peak_bytes(Folder(tmp_path), f"yes äbcdef | head -c {LARGE_BYTES}")

    assert (peak - peak_of_a_small_one) / LARGE_BYTES < 1.5


def test_an_output_is_held_twice_while_a_secret_is_taken_out_of_it(tmp_path: Path, peak_of_a_small_one: int) -> None:
    # To look for secrets takes its time.
    size = LARGE_BYTES // 4

    peak = peak_bytes(Folder(tmp_path), f'yes "it is $KEY," | head -c {size}', privacy={"scrub_env": ["KEY"]})

    assert (peak - peak_of_a_small_one) / size < 2.2
    written = (tmp_path / "run" / "outputs" / "all.txt").read_bytes()
    assert written.startswith(b"it is [scrubbed: KEY],\nit is [scrubbed: KEY],\n")
    assert KEY.encode() not in written
