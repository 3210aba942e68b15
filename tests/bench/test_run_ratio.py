"""Compare runs with runs of twice the size, with the minimum work, and with resuming them.

Each run has its own process. Startup is not measured.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from bench import plans_to_run
from bench.measure import best_of, print_ratio
from bench.run_processes import is_valid, resume_ours, run_ours

pytestmark = pytest.mark.bench
MAX_KIB_PER_TASK = 5
COMMANDS = 1_000
MAX_PARALLEL = 8
BARE_LOOP = f"""
import asyncio, time
from asyncio.subprocess import DEVNULL, PIPE

async def run(slots):
    async with slots:
        process = await asyncio.create_subprocess_exec("true", stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        await process.communicate()
        assert process.returncode == 0

async def run_all():
    slots = asyncio.Semaphore({MAX_PARALLEL})
    await asyncio.gather(*(run(slots) for _ in range({COMMANDS})))

before = time.perf_counter()
asyncio.run(run_all())
print(time.perf_counter() - before)
"""


def compile_plan(folder: Path, tasks: int, shape: str) -> Path:
    """Compile a plan: `wide` has no dependencies and runs 100 tasks at a time; `deep` is one chain."""
    bundle = folder / f"{shape}-{tasks}"
    if shape == "wide":
        return plans_to_run.layered_plan(bundle, 1, tasks, max_parallel=100)
    return plans_to_run.layered_plan(bundle, tasks, 1)


def run_cpu_s(plan: Path, out: Path) -> float:
    return run_ours("idle", plan, out).cpu_s


def run_wall_s(adapter: str, plan: Path, out: Path) -> float:
    return run_ours(adapter, plan, out).wall_s


@pytest.mark.parametrize("shape", ["wide", "deep"])
def test_running_twice_the_tasks_takes_at_most_2_3_times_as_long(tmp_path: Path, shape: str) -> None:
    plans = {f"{tasks:,}": compile_plan(tmp_path, tasks, shape) for tasks in (25_000, 50_000)}

    times = best_of(
        {name: partial(run_cpu_s, plan, tmp_path / f"run-{name}") for name, plan in plans.items()},
        rounds=3,
    )

    ratio = times["50,000"] / times["25,000"]
    print_ratio(f"twice the tasks, {shape}", times, ratio, 2.3)
    assert is_valid(tmp_path / "run-50,000")
    assert ratio <= 2.3


@pytest.mark.parametrize("shape", ["wide", "deep"])
def test_a_task_takes_at_most_5_kib_of_memory(tmp_path: Path, shape: str) -> None:
    peaks = {
        tasks: run_ours("idle", compile_plan(tmp_path, tasks, shape), tmp_path / "run").peak_bytes
        for tasks in (10_000, 50_000)
    }

    kib_per_task = (peaks[50_000] - peaks[10_000]) / 40_000 / 1_024
    listed = ", ".join(f"{tasks:,} tasks {peak / 1e6:.0f} MB" for tasks, peak in peaks.items())
    print(f"\nmemory, {shape}: {listed}; {kib_per_task:.1f} KiB per task, limit {MAX_KIB_PER_TASK}")
    assert kib_per_task <= MAX_KIB_PER_TASK


def test_1_000_commands_take_at_most_1_5_times_a_bare_loop(tmp_path: Path) -> None:
    """Wall time, because the run waits for other processes."""
    plan = plans_to_run.command_plan(tmp_path / "bundle", COMMANDS, MAX_PARALLEL)

    times = best_of(
        {
            "forum": lambda: run_wall_s("real", plan, tmp_path / "run"),
            "bare loop": lambda: float(subprocess.check_output([sys.executable, "-c", BARE_LOOP])),
        }
    )

    ratio = times["forum"] / times["bare loop"]
    print_ratio(f"{COMMANDS:,} commands, {MAX_PARALLEL} at a time", times, ratio, 1.5)
    assert is_valid(tmp_path / "run")
    assert ratio <= 1.5


def test_eager_dispatch_takes_at_most_1_1_times_the_critical_path(tmp_path: Path) -> None:
    """Wall time, because the tasks sleep."""
    plans = {dispatch: plans_to_run.opposed_chains(tmp_path / dispatch, dispatch) for dispatch in ("eager", "waves")}

    times = best_of(
        {name: partial(run_wall_s, "sleeper", plan, tmp_path / f"run-{name}") for name, plan in plans.items()},
        rounds=3,
    )
    times["critical path"] = plans_to_run.CRITICAL_PATH_S

    ratio = times["eager"] / times["critical path"]
    print_ratio("opposed chains", times, ratio, 1.1)
    assert is_valid(tmp_path / "run-eager")
    assert ratio <= 1.1


def test_resuming_10_000_finished_tasks_takes_at_most_a_tenth_of_the_run(tmp_path: Path) -> None:
    """Each task of the measured run starts the smallest program. The times of tasks without work are only
    printed: such tasks cost only their entries, and checking an entry costs about as much as writing it."""
    command_plan = plans_to_run.command_plan(tmp_path / "commands", 10_001, MAX_PARALLEL)
    idle_plan = plans_to_run.layered_plan(tmp_path / "idle", 1_001, 10)
    command_run, idle_run, cut = tmp_path / "ran", tmp_path / "finished", tmp_path / "cut"

    times = {"run": run_ours("real", command_plan, command_run).cpu_s}
    times |= best_of(
        {
            "resume": lambda: resume_ours(command_run, cut).cpu_s,
            "run without work": lambda: run_cpu_s(idle_plan, idle_run),
            "resume without work": lambda: resume_ours(idle_run, tmp_path / "cut-idle").cpu_s,
        },
        rounds=3,
    )

    ratio = times["resume"] / times["run"]
    print_ratio("resume with 10,000 finished tasks", times, ratio, 0.1)
    assert is_valid(cut)
    assert ratio <= 0.1
