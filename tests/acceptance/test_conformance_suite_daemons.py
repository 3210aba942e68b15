"""Processes that fork twice and leave their session do not outlive the command that started the program."""

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
from unit.conformance.judged_run import draft_and_review
from unit.conformance.suite.daemons import LEAVE, is_daemon_running, kill_daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")

PROGRAM = (
    LEAVE
    + """
with open(sys.argv[1]) as file:
    table = json.load(file)
for line in sys.stdin:
    request = json.loads(line)
    actions = table.get(request["id"], table["*"])
    if "start_daemon" in actions:
        leave(actions["start_daemon"], cleans=actions.get("cleans", False))
    is_daemon_alive = None
    if "check_daemon" in actions:
        with open(actions["check_daemon"]) as file:
            is_daemon_alive = os.path.exists(f"/proc/{int(file.read())}")
    if "flood_stdout" in actions:
        print("x" * 2_000_000, flush=True)
    if "hang" in actions:
        time.sleep(3600)
    answer = {"protocol": 1, "id": request["id"], "verdict": "valid", "is_daemon_alive": is_daemon_alive}
    print(json.dumps(answer), flush=True)
"""
)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    suite = Suite(tmp_path)
    write_set(suite.vectors, *(verify_case(f"ledger/{name}") for name in "abc"))
    return suite


@pytest.fixture
def pid_file(suite: Suite) -> Iterator[Path]:
    """The file with the process id of the daemon."""
    path = suite.folder / "daemon.pid"
    yield path
    kill_daemon(path)


def write_program(table: dict[str, Any], suite: Suite) -> str:
    (suite.folder / "program.py").write_text(PROGRAM)
    (suite.folder / "table.json").write_text(json.dumps(table))
    return shlex.join([sys.executable, "program.py", "table.json"])


@pytest.mark.parametrize("mode", [[], ["--serve"]])
def test_killing_a_program_also_kills_its_daemons(suite: Suite, pid_file: Path, mode: list[str]) -> None:
    table = {
        "*": {},
        "ledger/a": {"start_daemon": str(pid_file), "flood_stdout": 1, "hang": 1},
        "ledger/b": {"check_daemon": str(pid_file)},
    }

    completed = suite.test({}, "--jobs", "1", "--json", *mode, entrypoint=write_program(table, suite))

    first, second, third = json.loads(completed.stdout)["results"]
    assert [(difference["place"], difference["came"]) for difference in first["differences"]] == [
        ("standard output", "more; the program was killed")
    ]
    assert (second["answer"]["is_daemon_alive"], second["state"], third["state"]) == (False, "passed", "passed")
    assert not is_daemon_running(pid_file)


def test_a_program_may_leave_a_server_for_the_next_vector_but_it_ends_with_the_command(
    suite: Suite, pid_file: Path
) -> None:
    table = {"*": {}, "ledger/a": {"start_daemon": str(pid_file)}, "ledger/b": {"check_daemon": str(pid_file)}}

    completed = suite.test({}, "--jobs", "1", "--json", entrypoint=write_program(table, suite))

    assert (completed.returncode, json.loads(completed.stdout)["results"][1]["answer"]["is_daemon_alive"]) == (0, True)
    assert not is_daemon_running(pid_file)


@pytest.mark.parametrize("cleans", [False, True])
@pytest.mark.parametrize("command", ["test", "smoke", "mutate"])
def test_no_daemon_outlives_the_command(suite: Suite, pid_file: Path, command: str, cleans: bool) -> None:
    program = write_program({"*": {"start_daemon": str(pid_file), "cleans": cleans}}, suite)
    options = {
        "test": ["--vectors", "vectors", "--filter", "ledger/a"],
        "smoke": ["--vectors", "vectors"],
        "mutate": [str(draft_and_review().write(suite.folder / "run")), "--limit", "1"],
    }

    completed = suite.run(command, "--entrypoint", program, *options[command])

    assert completed.returncode in (0, 1), completed.stderr
    assert not is_daemon_running(pid_file)


def test_an_interrupt_kills_daemons(suite: Suite, pid_file: Path) -> None:
    program = write_program({"*": {"start_daemon": str(pid_file), "hang": 1}}, suite)
    command_line = [sys.executable, "-m", "forum_conformance", "test", "--entrypoint", program, "--vectors", "vectors"]
    with subprocess.Popen([*command_line, "--jobs", "1"], cwd=suite.folder, stdout=subprocess.PIPE) as process:
        wait_for_number(pid_file)
        process.terminate()
        process.communicate()

    assert (process.returncode, is_daemon_running(pid_file)) == (130, False)
