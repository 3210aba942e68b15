"""Measure the CPU time of processes and print ratios. Contestants take turns, and the best round counts."""

import resource
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Contestant = Callable[[], float]


def cpu_seconds(command: Sequence[str], cwd: Path) -> float:
    """User and system time of one process, including startup."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best_of(contestants: Mapping[str, Contestant], rounds: int = 5) -> dict[str, float]:
    """Return the best time of each contestant. They take turns, so that noise affects all alike."""
    measured: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            measured[name].append(contestant())
    return {name: min(times) for name, times in measured.items()}


def print_ratio(title: str, times: Mapping[str, float], ratio: float, limit: float) -> None:
    listed = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in times.items())
    print(f"\n{title}: {listed}; ratio {ratio:.2f}, limit {limit}")
