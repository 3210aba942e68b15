"""Compare `forum compile` with loading the same YAML, and with compiling twice as many tasks."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.measure import best_of, cpu_seconds, print_ratio

pytestmark = pytest.mark.bench

HEAD = """\
apiVersion: forum/v1
kind: Workflow
metadata: {name: big}
roster:
  adapters: {local: {type: scripted}}
  agents: {writer: {adapter: local}}
policy: {max_parallel: 64}
plan:
  tasks:
"""
LOAD = (
    "import sys, time, yaml\ntext = open(sys.argv[1], 'rb').read()\nstart = time.process_time()\n"
    "yaml.load(text, yaml.CSafeLoader)\nprint(time.process_time() - start)"
)


def write_workflow(path: Path, tasks: int, shape: str) -> None:
    lines = [HEAD]
    for index in range(tasks):
        lines.append(f"    t{index:05}:\n      agent: writer\n      instruction: Write part {index} of the text.\n")
        if shape == "chain" and index:
            lines.append(f"      needs: [t{index - 1:05}]\n")
    path.write_text("".join(lines))


def load_seconds(path: Path) -> float:
    """The CPU time of `yaml.load` alone, in its own process."""
    command = [sys.executable, "-c", LOAD, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compile_seconds(path: Path) -> float:
    """The CPU time of the whole command."""
    return cpu_seconds([sys.executable, "-m", "forum_runner", "compile", path.name, "-o", "plan.json"], path.parent)


@pytest.mark.parametrize("shape", ["wide", "chain"])
def test_compiling_10_000_tasks_takes_at_most_2_5_times_loading_their_yaml(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "workflow.yaml"
    write_workflow(path, 10_000, shape)

    times = best_of({"yaml.load": lambda: load_seconds(path), "forum compile": lambda: compile_seconds(path)})

    ratio = times["forum compile"] / times["yaml.load"]
    print_ratio(f"10,000 tasks, {shape}", times, ratio, 2.5)
    assert ratio <= 2.5


@pytest.mark.parametrize("shape", ["wide", "chain"])
def test_compiling_twice_the_tasks_takes_at_most_2_2_times_as_long(tmp_path: Path, shape: str) -> None:
    small, large = tmp_path / "small.yaml", tmp_path / "large.yaml"
    write_workflow(small, 10_000, shape)
    write_workflow(large, 20_000, shape)

    times = best_of({"10,000": lambda: compile_seconds(small), "20,000": lambda: compile_seconds(large)})

    ratio = times["20,000"] / times["10,000"]
    print_ratio(f"twice the tasks, {shape}", times, ratio, 2.2)
    assert ratio <= 2.2
