"""Whatever a run went through, it is told again from its record, to the byte; and from no other record."""

import os
from itertools import chain
from pathlib import Path
from random import Random

import orjson
import pytest

from unit.runner.execute.random_plans import Draw, drawn_plan
from unit.runner.execute.random_runs import Play, entries_of, told_again
from unit.runner.execute.random_worlds import World, drawn_temper

# FORUM_EXAMPLES asks for more.
EXAMPLES = int(os.environ.get("FORUM_EXAMPLES", "600"))
# Runs in which what happened is hard to guess, or what was said is hard to tell from its record.
HARD = {
    "a check by a command writes what is no text": (
        868, 1061, 5447, 13427, 14685, 17014, 23366, 24486, 28425, 30115, 30129, 31802, 33378, 36967
    ),
    "a budget cuts a call of a run that pauses": (14365,),
    "a budget cuts a call of a run that pauses, where a wave would open": (19118,),
    "a unit whose time came waits on for its rate": (14919, 26744),
}  # fmt: skip


def played(number: int, directory: Path) -> None:
    draw = Draw(Random(f"retelling/{number}").randint)  # noqa: S311 - the same every time, on purpose
    Play(drawn_plan(draw, 8 if number % 3 else 4), World(drawn_temper(draw)), directory).run()


def check_same(number: int, directory: Path) -> None:
    played(number, directory)

    retold = told_again(directory)

    assert retold.divergence is None, number
    assert retold.is_complete, number


@pytest.mark.parametrize("part", range(4))
def test_every_run_is_told_again_as_it_was(part: int, tmp_path: Path) -> None:
    for number in range(part, EXAMPLES, 4):
        check_same(number, tmp_path / str(number))


@pytest.mark.parametrize("numbers", HARD.values(), ids=HARD)
def test_a_run_is_told_again_though_its_events_are_hard_to_guess(numbers: tuple[int, ...], tmp_path: Path) -> None:
    for number in numbers:
        check_same(number, tmp_path / str(number))


def test_an_entry_that_the_machine_would_not_have_written_is_found_where_it_stands(tmp_path: Path) -> None:
    for number in sorted({*range(0, EXAMPLES, 4), *chain(*HARD.values())}):
        directory = tmp_path / str(number)
        played(number, directory)
        seq = altered_entry(number, directory)

        divergence = told_again(directory).divergence

        assert divergence is not None, number
        assert divergence.seq == seq, number


def altered_entry(number: int, directory: Path) -> int:
    """Gives one of the machine's entries other causes; its seq comes back."""
    entries = [dict(entry) for entry in entries_of(directory)]
    own = [entry for entry in entries[1:] if entry["data"].get("by") != "person"]
    entry = Random(number).choice(own)  # noqa: S311 - the same every time, on purpose
    entry["causes"] = [] if entry["causes"] else [0]
    (directory / "ledger.jsonl").write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))
    return int(entry["seq"])
