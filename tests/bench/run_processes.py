"""Contestants in separate processes: our runs, and peers in their own environments."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import plans_to_run
from bench.run_ours import Cost
from forum_runner.ledger import verify
from forum_runner.ledger.layout import CHECKPOINT, LEDGER
from forum_runner.ledger.source import ledger_at
from forum_runner.ledger.verification.report import Verdict

TESTS = Path(__file__).resolve().parents[1]


def run_ours(adapter: str, plan: Path, out: Path) -> Cost:
    """Measure one run after a warm-up. Remove earlier output first."""
    warm_up = out.with_name("warm-up")
    for directory in (out, warm_up):
        shutil.rmtree(directory, ignore_errors=True)
    return measure_ours("idle", plans_to_run.layered_plan(out.with_name("small"), 2, 2), warm_up, adapter, plan, out)


def resume_ours(finished: Path, cut: Path) -> Cost:
    """Measure resuming a copy of a finished run without its last wave, after a warm-up."""
    small, warm_up = finished.with_name("small"), cut.with_name("warm-up")
    plan = plans_to_run.layered_plan(small, 2, 2)
    shutil.rmtree(small / "run", ignore_errors=True)
    measure_ours("idle", plan, small / "run")
    for run_dir, copy in ((small / "run", warm_up), (finished, cut)):
        cut_before_last_wave(run_dir, copy)
    return measure_ours("resume", plan, warm_up, "resume", plan, cut)


def cut_before_last_wave(finished: Path, cut: Path) -> None:
    """Copy the run as if its process had been killed before the last wave."""
    shutil.rmtree(cut, ignore_errors=True)
    shutil.copytree(finished, cut)
    lines = (cut / LEDGER).read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"kind":"wave.opened"' in line)
    (cut / LEDGER).write_bytes(b"".join(lines[:last]))
    (cut / CHECKPOINT).unlink()


def measure_ours(*arguments: object) -> Cost:
    command = [sys.executable, "-m", "bench.run_ours", *map(str, arguments)]
    return Cost(**json.loads(subprocess.run(command, cwd=TESTS, check=True, stdout=subprocess.PIPE).stdout))


def is_valid(run_dir: Path) -> bool:
    report = verify(ledger_at(run_dir))
    return report.verdict is Verdict.VALID and not report.codes


def create_environment(folder: Path, *packages: str) -> Path:
    """Create an environment with these packages and return its Python. Skip the test if they cannot be installed."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    bin_ = folder / "venv" / "bin"
    installed = subprocess.run([bin_ / "pip", "install", "--quiet", *packages], capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"cannot install {packages[0]}: {installed.stderr.strip().splitlines()[-1:]}")
    return bin_ / "python"


def run_theirs(python: Path, program: str, folder: Path, *arguments: object) -> float:
    """Run a program in an empty home, and return the CPU seconds on the last line of its output."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "DO_NOT_TRACK": "1"}
    command = [str(python), "-c", program, *map(str, arguments)]
    stdout = subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True, text=True).stdout
    return float(stdout.splitlines()[-1])
