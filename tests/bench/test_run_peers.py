"""What a task without work costs, against others that run graphs of tasks: CPU time, start-up left out.

Each contestant runs in a process of its own, each of the others in an environment of its own. Ours and forum-engine
leave a ledger on disk, the others nothing.
"""

from pathlib import Path

import pytest

from bench import plans_to_run, run_peers
from bench.measure import best_of
from bench.measure import print_ratio as told
from bench.run_processes import environment, is_valid, run_ours, run_theirs

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def forum_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("forum-engine"), "forum-engine==1.17.*")


@pytest.mark.parametrize(("layers", "width"), [(1, 1_000), (10, 100), (1_000, 1)])
def test_a_task_takes_at_most_0_55_of_the_time_of_forum_engine(
    forum_engine: Path, tmp_path: Path, layers: int, width: int
) -> None:
    plan = plans_to_run.layered(tmp_path / "bundle", layers, width)

    times = best_of(
        {
            "forum": lambda: run_ours("idle", plan, tmp_path / "run").cpu_s,
            "forum-engine": lambda: run_theirs(
                forum_engine, run_peers.FORUM_ENGINE, tmp_path / "theirs", layers, width
            ),
        },
        # A tenth of a second each: it takes many to find a quiet moment for both.
        rounds=15,
    )

    ratio = times["forum"] / times["forum-engine"]
    told(f"{layers:,} x {width:,} tasks, milliseconds for all or microseconds for each", times, ratio, 0.55)
    assert is_valid(tmp_path / "run")
    assert ratio <= 0.55


@pytest.mark.parametrize(
    ("packages", "program", "times_less"),
    [
        (["langgraph==1.*"], run_peers.LANGGRAPH, 5),
        # Later releases of FastAPI took away an argument that this one of Prefect gives.
        (["prefect==3.*", "fastapi<0.145"], run_peers.PREFECT, 30),
        (["dagster==1.*"], run_peers.DAGSTER, 30),
    ],
    ids=["langgraph", "prefect", "dagster"],
)
def test_50_layers_of_20_tasks_take_a_fraction_of_the_time_of_others(
    tmp_path: Path, packages: list[str], program: str, times_less: int
) -> None:
    python = environment(tmp_path, *packages)
    plan = plans_to_run.layered(tmp_path / "bundle", 50, 20)

    times = best_of(
        {
            "forum": lambda: run_ours("idle", plan, tmp_path / "run").cpu_s,
            packages[0]: lambda: run_theirs(python, program, tmp_path / "theirs", 50, 20),
        },
        rounds=3,
    )

    ratio = times[packages[0]] / times["forum"]
    told(f"50 x 20 tasks, {packages[0]}/forum, at least", times, ratio, times_less)
    assert is_valid(tmp_path / "run")
    assert ratio >= times_less
