"""Compare the CPU time of `forum --help` with importing click, which it uses."""

import sys
from pathlib import Path

import pytest

from bench.measure import best_of, cpu_seconds, print_ratio

pytestmark = pytest.mark.bench


def test_help_takes_at_most_1_7_times_importing_click(tmp_path: Path) -> None:
    forum = Path(sys.executable).with_name("forum")
    contestants = {
        "import click": lambda: cpu_seconds([sys.executable, "-c", "import click"], tmp_path),
        "forum --help": lambda: cpu_seconds([str(forum), "--help"], tmp_path),
    }

    times = best_of(contestants, rounds=30)

    ratio = times["forum --help"] / times["import click"]
    print_ratio("startup", times, ratio, 1.7)
    assert ratio <= 1.7
