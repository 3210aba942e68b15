"""Programs that fork twice and leave their session do not outlive the command that asked them."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from suites.command import Suite
from suites.processes import wait_for_number
from suites.tiny_set import verify_case, write_set
from unit.conformance.story import draft_and_review
from unit.conformance.suite.leaving import LEAVE, kill, runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")

PROGRAM = (
    LEAVE
    + """
with open(sys.argv[1]) as file:
    table = json.load(file)
for line in sys.stdin:
    request = json.loads(line)
    todo = table.get(request["id"], table["*"])
    if "leaves" in todo:
        leave(todo["leaves"], cleans=todo.get("cleans", False))
    seen = None
    if "looks" in todo:
        with open(todo["looks"]) as file:
            seen = os.path.exists(f"/proc/{int(file.read())}")
    if "floods" in todo:
        print("x" * 2_000_000, flush=True)
    if "hangs" in todo:
        time.sleep(3600)
    print(json.dumps({"protocol": 1, "id": request["id"], "verdict": "valid", "seen": seen}), flush=True)
"""
)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    made = Suite(tmp_path)
    write_set(made.vectors, *(verify_case(f"ledger/{name}") for name in "abc"))
    return made


@pytest.fixture
def away(suite: Suite) -> Iterator[Path]:
    """Where the number of the process stands that is left."""
    path = suite.folder / "away"
    yield path
    kill(path)


def entrypoint(table: dict[str, Any], suite: Suite) -> str:
    (suite.folder / "program.py").write_text(PROGRAM)
    (suite.folder / "table.json").write_text(json.dumps(table))
    return shlex.join([sys.executable, "program.py", "table.json"])


@pytest.mark.parametrize("mode", [[], ["--serve"]])
def test_a_program_that_is_killed_takes_along_those_who_left_it(suite: Suite, away: Path, mode: list[str]) -> None:
    table = {"*": {}, "ledger/a": {"leaves": str(away), "floods": 1, "hangs": 1}, "ledger/b": {"looks": str(away)}}

    done = suite.test({}, "--jobs", "1", "--json", *mode, entrypoint=entrypoint(table, suite))

    first, second, third = json.loads(done.stdout)["results"]
    assert [(each["place"], each["came"]) for each in first["differences"]] == [
        ("standard output", "more; the program was killed")
    ]
    assert (second["answer"]["seen"], second["state"], third["state"]) == (False, "passed", "passed")
    assert not runs(away)


def test_one_that_ends_may_leave_a_server_for_the_next_but_not_for_ever(suite: Suite, away: Path) -> None:
    table = {"*": {}, "ledger/a": {"leaves": str(away)}, "ledger/b": {"looks": str(away)}}

    done = suite.test({}, "--jobs", "1", "--json", entrypoint=entrypoint(table, suite))

    assert (done.returncode, json.loads(done.stdout)["results"][1]["answer"]["seen"]) == (0, True)
    assert not runs(away)


@pytest.mark.parametrize("cleans", [False, True])
@pytest.mark.parametrize("command", ["test", "smoke", "mutate"])
def test_nobody_outlives_a_command_that_asks_programs(suite: Suite, away: Path, command: str, cleans: bool) -> None:
    asked = entrypoint({"*": {"leaves": str(away), "cleans": cleans}}, suite)
    about = {
        "test": ["--vectors", "vectors", "--filter", "ledger/a"],
        "smoke": ["--vectors", "vectors"],
        "mutate": [str(draft_and_review().write(suite.folder / "run")), "--limit", "1"],
    }

    done = suite.run(command, "--entrypoint", asked, *about[command])

    assert done.returncode in (0, 1), done.stderr
    assert not runs(away)


def test_an_interrupt_ends_those_who_left(suite: Suite, away: Path) -> None:
    asked = entrypoint({"*": {"leaves": str(away), "hangs": 1}}, suite)
    words = [sys.executable, "-m", "forum_conformance", "test", "--entrypoint", asked, "--vectors", "vectors"]
    with subprocess.Popen([*words, "--jobs", "1"], cwd=suite.folder, stdout=subprocess.PIPE) as started:
        wait_for_number(away)
        started.terminate()
        started.communicate()

    assert (started.returncode, runs(away)) == (130, False)
