"""Replay reproduces every random run byte for byte, and detects every altered ledger."""

import os
from itertools import chain
from pathlib import Path
from random import Random

import orjson
import pytest

from unit.runner.execute.random_plans import Draw, draw_plan
from unit.runner.execute.random_runs import Simulation, entries_of, replay_ledger
from unit.runner.execute.random_worlds import World, draw_fault_rates

# FORUM_EXAMPLES sets the number of runs.
EXAMPLES = int(os.environ.get("FORUM_EXAMPLES", "600"))
# Runs whose events or replies are hard to reconstruct from the ledger.
HARD = {
    "a command check writes invalid UTF-8": (
        868, 1061, 5447, 13427, 14685, 17014, 23366, 24486, 28425, 30115, 30129, 31802, 33378, 36967
    ),
    "a budget ends a call of a pausing run": (14365,),
    "a budget ends a call of a pausing run when a wave would open": (19118,),
    "a unit whose backoff ended waits for its rate": (14919, 26744),
}  # fmt: skip


def simulate(number: int, directory: Path) -> None:
    draw = Draw(Random(f"retelling/{number}").randint)  # noqa: S311 - reproducible on purpose
    Simulation(draw_plan(draw, 8 if number % 3 else 4), World(draw_fault_rates(draw)), directory).run()


def check_same(number: int, directory: Path) -> None:
    simulate(number, directory)

    replayed = replay_ledger(directory)

    assert replayed.divergence is None, number
    assert replayed.is_complete, number


@pytest.mark.parametrize("part", range(4))
def test_every_run_replays_without_divergence(part: int, tmp_path: Path) -> None:
    for number in range(part, EXAMPLES, 4):
        check_same(number, tmp_path / str(number))


@pytest.mark.parametrize("numbers", HARD.values(), ids=HARD)
def test_a_run_with_events_that_are_hard_to_reconstruct_replays_without_divergence(
    numbers: tuple[int, ...], tmp_path: Path
) -> None:
    for number in numbers:
        check_same(number, tmp_path / str(number))


def test_an_entry_the_machine_would_not_have_written_is_reported_at_its_seq(tmp_path: Path) -> None:
    for number in sorted({*range(0, EXAMPLES, 4), *chain(*HARD.values())}):
        directory = tmp_path / str(number)
        simulate(number, directory)
        seq = alter_entry(number, directory)

        divergence = replay_ledger(directory).divergence

        assert divergence is not None, number
        assert divergence.seq == seq, number


def alter_entry(number: int, directory: Path) -> int:
    """Change the causes of one entry by the machine and return its seq."""
    entries = [dict(entry) for entry in entries_of(directory)]
    own = [entry for entry in entries[1:] if entry["data"].get("by") != "person"]
    entry = Random(number).choice(own)  # noqa: S311 - reproducible on purpose
    entry["causes"] = [] if entry["causes"] else [0]
    (directory / "ledger.jsonl").write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))
    return int(entry["seq"])
