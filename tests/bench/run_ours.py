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
from forum_runner.app.run_handle import EndedRun, RunHandle
from forum_runner.app.run_start import start
from forum_runner.app.runs import RunServices, start_run
from forum_runner.commands.event_loop import run_main
from forum_runner.commands.run_options import enable_garbage_collection
from forum_runner.execute.engines import LocalEngine, MakeAdapter


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run, without process startup. The peak memory includes the whole process."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


class LocalAdapter:
    """The base of adapters that do their work in this process."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        pass

    async def probe(self) -> str | None:
        return None

    async def close(self) -> None:
        pass


class Idle(LocalAdapter):
    """Answers each task immediately. Answers can be predicted, as with the scripted adapter."""

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        return Reply(f"Part {attempt.task}.".encode(), usage=Usage(10, 0, 10)), 0

    async def answer(self, attempt: Attempt) -> Reply:
        return self.predict(attempt)[0]


class CoroutineAdapter(LocalAdapter):
    """Answers each task immediately, but only in a coroutine."""

    async def answer(self, attempt: Attempt) -> Reply:
        return Reply(f"Part {attempt.task}.".encode(), usage=Usage(10, 0, 10))


class Sleeper(CoroutineAdapter):
    """Sleeps as many milliseconds as the instruction says before it answers."""

    async def answer(self, attempt: Attempt) -> Reply:
        await asyncio.sleep(int(attempt.prompt.text) / 1_000)
        return await super().answer(attempt)


ADAPTERS: Mapping[str, Callable[[str, Mapping[str, Any]], Adapter]] = {
    "idle": Idle,
    "coroutine": CoroutineAdapter,
    "sleeper": Sleeper,
    "real": make_adapter,
}


def cpu_s() -> float:
    """CPU seconds of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def peak_bytes() -> int:
    """Peak memory of this process. `ru_maxrss` would start with the parent's value."""
    match = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) * 1024


async def wait(begin: Callable[[], RunHandle]) -> EndedRun:
    return await begin().wait()


def measure(begin: Callable[[], RunHandle]) -> Cost:
    # `forum run` does this, too.
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
    # Build the tasks before the measurement, because building the graphs of the peers is not measured either.
    assert prepared.plan.tasks
    return measure(lambda: start_run(prepared, services(make), Workspace(plan.parent), out=out))


def resume(directory: Path) -> Cost:
    """Resume like `forum resume`: verify the ledger first."""
    return measure(lambda: start(Workspace(Path()), ResumeRequest(str(directory)), services(Idle)))


def main(arguments: Sequence[str]) -> None:
    costs = []
    for name, plan, directory in triples(arguments):
        if name == "resume":
            costs.append(resume(Path(directory)))
        else:
            costs.append(run(Path(plan), Path(directory), ADAPTERS[name]))
    print(json.dumps(asdict(costs[-1])))


def triples(arguments: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    yield from zip(arguments[::3], arguments[1::3], arguments[2::3], strict=True)


if __name__ == "__main__":
    main(sys.argv[1:])
