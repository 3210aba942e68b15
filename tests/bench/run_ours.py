"""Run wave plans in this process and print the cost of the last: `python -m bench.run_ours ADAPTER PLAN OUT ...`.

All runs but the last are a warm-up. With `resume` instead of an adapter, resume the run in OUT.
"""

import asyncio
import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.plans_to_run import load
from forum_adapters.base import Adapter, Attempt, Reply, Usage
from forum_adapters.registry import make_adapter
from forum_runner.api import ResumeRequest, Workspace
from forum_runner.app.run_handle import FinishedRun, RunHandle
from forum_runner.app.run_start import start
from forum_runner.app.runs import RunServices, start_run
from forum_runner.commands.event_loop import run_main
from forum_runner.commands.run_options import enable_garbage_collection
from forum_runner.execute.engines import LocalEngine, MakeAdapter


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run without process startup. The memory is that of the process."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


class InProcess:
    """An adapter that makes no calls."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        pass

    async def probe(self) -> str | None:
        return None

    async def close(self) -> None:
        pass


class Idle(InProcess):
    """Answer each task immediately with its own text, known in advance as in the scripted adapter."""

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        return Reply(f"Part {attempt.task}.".encode(), usage=Usage(10, 0, 10)), 0

    async def answer(self, attempt: Attempt) -> Reply:
        return self.predict(attempt)[0]


class Waiting(InProcess):
    """Answer immediately, from a coroutine."""

    async def answer(self, attempt: Attempt) -> Reply:
        return Reply(f"Part {attempt.task}.".encode(), usage=Usage(10, 0, 10))


class Sleeper(Waiting):
    """Wait for as many milliseconds as the instruction says."""

    async def answer(self, attempt: Attempt) -> Reply:
        await asyncio.sleep(int(attempt.prompt.text) / 1_000)
        return await super().answer(attempt)


ADAPTERS: Mapping[str, Callable[[str, Mapping[str, Any]], Adapter]] = {
    "idle": Idle,
    "waiting": Waiting,
    "sleeper": Sleeper,
    "real": make_adapter,
}


def cpu_s() -> float:
    """CPU seconds of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def peak_bytes() -> int:
    """Peak memory. `ru_maxrss` would start with the parent's value."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def wait(begin: Callable[[], RunHandle]) -> FinishedRun:
    return await begin().wait()


def cost(begin: Callable[[], RunHandle]) -> Cost:
    # As in `forum run`.
    enable_garbage_collection()
    cpu, wall = cpu_s(), time.perf_counter()
    finished = run_main(wait(begin))
    spent = Cost(cpu_s() - cpu, time.perf_counter() - wall, peak_bytes())
    assert finished.outcome.status == "passed", finished
    return spent


def services(make: MakeAdapter) -> RunServices:
    return RunServices(make_engine=lambda: LocalEngine(make))


def run(plan: Path, out: Path, make: MakeAdapter) -> Cost:
    prepared = load(plan)
    # Not measured, like building the graphs of the peers.
    assert prepared.plan.tasks
    return cost(lambda: start_run(prepared, services(make), Workspace(plan.parent), out=out))


def go_on(directory: Path) -> Cost:
    """Resume like `forum resume`: verify the ledger first."""
    return cost(lambda: start(Workspace(Path()), ResumeRequest(str(directory)), services(Idle)))


def main(arguments: Sequence[str]) -> None:
    costs = []
    for what, plan, directory in batched(arguments):
        if what == "resume":
            costs.append(go_on(Path(directory)))
        else:
            costs.append(run(Path(plan), Path(directory), ADAPTERS[what]))
    print(json.dumps(asdict(costs[-1])))


def batched(arguments: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    yield from zip(arguments[::3], arguments[1::3], arguments[2::3], strict=True)


if __name__ == "__main__":
    main(sys.argv[1:])
