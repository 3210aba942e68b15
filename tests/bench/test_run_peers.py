"""Compare the CPU time of tasks without work with other engines that run graphs of tasks. Startup is not measured.

Each engine runs in its own process, the others also in their own environments. `forum` and forum-engine write a ledger
to disk, the others write nothing.
"""

from pathlib import Path

import pytest

from bench import plans_to_run, run_peers
from bench.measure import best_of, print_ratio
from bench.run_processes import create_environment, is_valid, run_ours, run_theirs

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def forum_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_environment(tmp_path_factory.mktemp("forum-engine"), "forum-engine==1.17.*")


@pytest.mark.parametrize(("layers", "width"), [(1, 1_000), (10, 100), (1_000, 1)])
def test_a_task_takes_at_most_0_55_times_the_cpu_time_of_forum_engine(
    forum_engine: Path, tmp_path: Path, layers: int, width: int
) -> None:
    plan = plans_to_run.layered_plan(tmp_path / "bundle", layers, width)

    times = best_of(
        {
            "forum": lambda: run_ours("idle", plan, tmp_path / "run").cpu_s,
            "forum-engine": lambda: run_theirs(
                forum_engine, run_peers.FORUM_ENGINE, tmp_path / "theirs", layers, width
            ),
        },
        # A round takes a tenth of a second, so it takes many rounds until both engines had a quiet moment.
        rounds=15,
    )

    ratio = times["forum"] / times["forum-engine"]
    print_ratio(f"{layers:,} x {width:,} tasks, milliseconds for all or microseconds for each", times, ratio, 0.55)
    assert is_valid(tmp_path / "run")
    assert ratio <= 0.55


@pytest.mark.parametrize(
    ("packages", "program", "min_ratio"),
    [
        (["langgraph==1.*"], run_peers.LANGGRAPH, 5),
        # Prefect 3 passes an argument that later releases of FastAPI do not accept.
        (["prefect==3.*", "fastapi<0.145"], run_peers.PREFECT, 30),
        (["dagster==1.*"], run_peers.DAGSTER, 30),
    ],
    ids=["langgraph", "prefect", "dagster"],
)
def test_50_layers_of_20_tasks_take_a_fraction_of_the_cpu_time_of_other_engines(
    tmp_path: Path, packages: list[str], program: str, min_ratio: int
) -> None:
    python = create_environment(tmp_path, *packages)
    plan = plans_to_run.layered_plan(tmp_path / "bundle", 50, 20)

    times = best_of(
        {
            "forum": lambda: run_ours("idle", plan, tmp_path / "run").cpu_s,
            packages[0]: lambda: run_theirs(python, program, tmp_path / "theirs", 50, 20),
        },
        rounds=3,
    )

    ratio = times[packages[0]] / times["forum"]
    print_ratio(f"50 x 20 tasks, {packages[0]}/forum, at least", times, ratio, min_ratio)
    assert is_valid(tmp_path / "run")
    assert ratio >= min_ratio
