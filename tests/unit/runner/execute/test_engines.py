"""Runs with each engine while it loses some calls and reports others twice.

FORUM_EXAMPLES sets the number of runs; by default a few fixed ones are executed.
"""

import asyncio
import os
import pickle
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from engines.adapter_plugins import install_adapters
from engines.lossy_engine import Fates, LossyEngine
from forum_adapters.base import Attempt
from forum_runner.canonical import canonical
from forum_runner.execute.drive import LiveDriver, Recorder, RunClock, SteadyClock
from forum_runner.execute.engines import ENGINES, engine_factory
from forum_runner.execute.machine import Context, Machine, Outcome
from forum_runner.execute.resume import StateRestorer, read_run_start
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.begin import create_ledger, open_ledger
from forum_runner.ledger.files import Durability
from forum_runner.wave_plan.wave_plan_reader import read_wave_plan
from unit.runner.execute.ledger_verdicts import VALID, verdicts
from unit.runner.execute.random_laws import CALL_START_KINDS, Entry, broken_laws, task_of
from unit.runner.execute.random_plans import DIGESTS, JsonObject, data_edge, ladder_of, small_plan
from unit.runner.execute.random_runs import IMPLEMENTATION, RUN, entries_of, start_process

SEEDS = range(int(os.environ.get("FORUM_EXAMPLES", "60")) // 10)
RETRY = {"attempts": 3, "backoff_ms": 1, "max_backoff_ms": 1}
TASKS: dict[str, JsonObject] = {
    "once": {},
    "often": {"idempotent": True, "retry": RETRY},
    "list": {"output": DIGESTS["list"], "idempotent": True},
    "each": {"foreach": {"from": {"task": "list"}, "as": "item", "max": 3}, "allow_failure": True},
    "judged": {
        "accept": [{"command": [["check"]]}, {"agent": "critic"}],
        "idempotent": True,
        "needs": [data_edge("often")],
    },
    "climbs": {**ladder_of("writer", 3), "idempotent": True, "accept": [{"schema": DIGESTS["number"]}]},
    "last": {"needs": [data_edge("once", "one"), data_edge("judged", "two")]},
}
ANSWERS = [
    {"task": "list", "output": [1, 2, 3]},
    {"task": "judged", "check": "command", "output": "looks good"},
    {"task": "judged", "agent": "critic", "output": {"verdict": "pass", "reason": "good"}},
    {"output": "done", "latency": "5ms"},
]


def plan_of(seed: int) -> JsonObject:
    policy = {"on_lost": "retry"} if seed % 3 == 2 else {}
    return small_plan(TASKS, {"out": {"task": "last"}}, max_parallel=1 + seed % 4, on_failure="continue", **policy)


class Runs:
    """Successive processes of one run, each with its own engine, until the run is sealed."""

    def __init__(self, directory: Path, document: JsonObject, fates: Fates, engine: str) -> None:
        self._directory = directory
        self._document = document
        self._fates = fates
        self._engine = engine
        self.journal = directory.with_name("journal")
        self.journal.touch()
        self.started: list[str] = []

    def next(self, interrupt_after: int | None) -> Outcome:
        return asyncio.run(self._next(interrupt_after))

    async def _next(self, interrupt_after: int | None) -> Outcome:
        script = {"type": "x-journal", "answers": ANSWERS, "journal": str(self.journal)}
        context = Context(RUN, IMPLEMENTATION, dict.fromkeys(self._document["adapters"], script), script)
        machine = Machine(read_wave_plan(self._document), context)
        is_new = not self._directory.exists()
        now = SteadyClock()
        clock, scrubber = RunClock(now()), Scrubber({})
        with ExitStack() as resources:
            if is_new:
                plan = canonical(self._document)
                ledger = create_ledger(
                    self._directory, run=RUN, wave_plan=plan, durability=Durability.NONE, clock=clock
                )
                machine.state.apply("run.opened", clock.now_us, {}, {})
            else:
                restorer = StateRestorer(machine.state, self._directory, read_run_start(self._directory).plan)
                resources.callback(restorer.close)
                ledger = open_ledger(self._directory, clock=clock, observe=restorer.apply)
            recorder = Recorder(resources.enter_context(ledger), machine.state, scrubber)

            def interrupt(reports: int) -> None:
                if reports == interrupt_after:
                    driver.interrupt()

            engine = LossyEngine(engine_factory(self._engine)(), self._fates, interrupt)
            driver = LiveDriver(machine, recorder, engine, scrubber, clock, now)
            outcome = await driver.run(is_new=is_new)
        self.started += engine.begun
        return outcome


@pytest.fixture(params=sorted(ENGINES.own))
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    install_adapters(tmp_path / "packages", monkeypatch)
    return str(request.param)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lost_call_is_recorded_once_and_not_repeated(seed: int, engine: str, tmp_path: Path) -> None:
    document = plan_of(seed)
    runs = Runs(tmp_path / "run", document, Fates(seed), engine)

    outcome = runs.next(interrupt_after=4 if seed % 2 else None)
    while outcome.status == "paused":
        outcome = runs.next(None)

    entries = list(entries_of(tmp_path / "run"))
    calls = {f"{RUN}/{entry['seq']}": entry for entry in entries if entry["kind"] in CALL_START_KINDS}
    executed = runs.journal.read_text(encoding="utf-8").split()
    assert verdicts(tmp_path / "run") == {"runner": VALID, "judge": VALID}
    assert broken_laws(document, entries) == []
    assert sorted(runs.started) == sorted(calls)
    assert len(set(executed)) == len(executed)
    assert set(executed) <= set(calls)
    assert repeated_without_permission(document, entries, [calls[call] for call in executed]) == set()


def repeated_without_permission(document: JsonObject, entries: Sequence[Entry], executed: Sequence[Entry]) -> set[str]:
    """Return the units that ran again after a lost attempt although neither plan nor policy allows it."""
    lost = {entry["data"]["task"]: entry["seq"] for entry in reversed(entries) if entry["kind"] == "task.lost"}
    done = {entry["data"]["task"] for entry in executed if entry["seq"] > lost.get(entry["data"]["task"], len(entries))}
    repeatable = {name for name, task in document["tasks"].items() if "idempotent" in task}
    if document["policy"].get("on_lost") == "retry":
        return set()
    return {unit for unit in done if task_of(document, unit) not in repeatable}


def test_a_run_ends_when_its_engine_loses_every_call(engine: str, tmp_path: Path) -> None:
    document = small_plan(TASKS, on_lost="retry", on_failure="continue")
    runs = Runs(tmp_path / "run", document, Fates(1, loss_percent=100), engine)

    outcome = runs.next(None)

    assert outcome == Outcome("failed")
    assert verdicts(tmp_path / "run")["runner"] == VALID


def test_an_attempt_can_be_pickled(tmp_path: Path) -> None:
    run = start_process(tmp_path / "run", small_plan(TASKS))
    attempts: list[Attempt] = list(run.open.values())
    run.close()

    assert attempts
    assert pickle.loads(pickle.dumps(attempts)) == attempts  # noqa: S301 - pickled on the same line
