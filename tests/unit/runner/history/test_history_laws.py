"""Properties of the history of random runs that are interrupted, killed and resumed until they are sealed."""

import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from hypothesis import given

from forum_runner.history.read_history import read_history
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.entries import KINDS
from forum_runner.ledger.read_entry import read_entry
from forum_runner.ledger.source import LedgerSource
from unit.runner.execute.random_plans import JsonObject, wave_plans
from unit.runner.execute.random_runs import Simulation
from unit.runner.execute.random_settings import examples
from unit.runner.execute.random_worlds import FaultRates, World, fault_rates


@examples(60)
@given(document=wave_plans(), faults=fault_rates())
def test_the_totals_of_the_history_match_the_seal(document: JsonObject, faults: FaultRates) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        Simulation(document, World(faults), directory).run()

        history = read_history(LedgerSource("run", directory / "ledger.jsonl", directory))
        stepwise = RunHistory(head=history.head)
        for line in (directory / "ledger.jsonl").read_bytes().splitlines():
            entry = read_entry(line)
            assert entry is not None
            assert entry.kind in KINDS
            before = stepwise.active_us
            stepwise.apply(entry)
            assert stepwise.active_us >= before

    assert history.seal is not None
    assert asdict(history.usage) == history.seal.data["totals"]
    assert history.states == +Counter(history.seal.data["counts"])
    assert (history.open_tasks, history.instances) == ({}, sum(history.instance_end_states.values()))
    assert stepwise == history
