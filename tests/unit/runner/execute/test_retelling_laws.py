"""Whatever a run went through, it is told again from its record, to the byte."""

import os
from pathlib import Path
from random import Random

import pytest

from forum_runner.execute.retelling import Retelling
from unit.runner.execute.random_plans import Draw, drawn_plan
from unit.runner.execute.random_runs import Play
from unit.runner.execute.random_worlds import World, drawn_temper

# FORUM_EXAMPLES asks for more.
EXAMPLES = int(os.environ.get("FORUM_EXAMPLES", "120"))


@pytest.mark.parametrize("part", range(4))
def test_every_run_is_told_again_as_it_was(part: int, tmp_path: Path) -> None:
    for number in range(part, EXAMPLES, 4):
        draw = Draw(Random(f"retelling/{number}").randint)  # noqa: S311 - the same every time, on purpose
        directory = tmp_path / str(number)
        Play(drawn_plan(draw, 8 if number % 3 else 4), World(drawn_temper(draw)), directory).run()

        retelling = Retelling(directory)
        retold = retelling.tell()
        retelling.close()

        assert retold.divergence is None, number
        assert retold.is_complete, number
