"""The suite survives harmful programs, closed streams and signals."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forum_conformance import cli
from suites.command import VALID_ANSWER, Suite
from suites.processes import wait_for_number, wait_until_ended
from suites.table_program import write_entrypoint
from suites.tiny_set import verify_case, write_set
from unit.conformance.judged_run import draft_and_review

HARMFUL = """
import json, os, pathlib, shutil, sys
request = json.load(sys.stdin)
folder = pathlib.Path(request["input"]).parent
if request["id"] == "ledger/b":
    {harm}
print(json.dumps({{"protocol": 1, "verdict": "valid"}}))
"""
HARMS = {
    "enlarges a file": "os.truncate(folder / 'run/ledger.jsonl', 1 << 43)",
    "deletes its folder": "shutil.rmtree(folder)",
    "removes all folders": "shutil.rmtree(folder.parent.parent)",
    "replaces its folder with a link": "shutil.rmtree(folder); folder.symlink_to('/usr/lib')",
}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


@pytest.mark.parametrize("harm", HARMS)
def test_a_program_that_damages_its_folder_fails_only_that_vector(suite: Suite, harm: str) -> None:
    write_set(suite.vectors, *(verify_case(f"ledger/{name}") for name in "abc"))
    program = suite.folder / "harmful.py"
    program.write_text(HARMFUL.format(harm=HARMS[harm]))
    entrypoint = shlex.join([sys.executable, str(program)])

    completed = suite.test({}, "--jobs", "1", "--json", entrypoint=entrypoint)

    results = json.loads(completed.stdout)["results"]
    assert (completed.returncode, [result["state"] for result in results]) == (1, ["passed", "failed", "passed"])
    (difference,) = results[1]["differences"]
    assert (difference["place"], difference["came"].split(":")[0]) == ("the vector's files", "changed")


def start_suite(arguments: list[str], suite: Suite) -> "subprocess.Popen[str]":
    (suite.folder / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "forum_conformance", *arguments],
        cwd=suite.folder,
        env={**os.environ, "TMPDIR": str(suite.folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["smoke", "mutate", "mutate --serve"])
def test_an_interrupted_command_leaves_no_files_and_no_processes(
    suite: Suite, command: str, signal_: signal.Signals
) -> None:
    child = suite.folder / "child"
    entrypoint = write_entrypoint({"*": {"child": str(child), "sleep": 3600}}, suite.folder)
    options = ["--entrypoint", entrypoint, "--timeout", "600"]
    if command == "smoke":
        options += ["--vectors", "vectors"]
    else:
        options.append(str(draft_and_review().write(suite.folder / "run")))
    process = start_suite([*command.split(), *options], suite)
    pid = wait_for_number(child)

    process.send_signal(signal_)
    _, err = process.communicate()

    assert (process.returncode, err) == (130, "forum-conformance: interrupted\n")
    assert list((suite.folder / "tmp").iterdir()) == []
    wait_until_ended(pid)


def test_an_ignored_hangup_stays_ignored(suite: Suite) -> None:
    gate = suite.folder / "gate"
    child = suite.folder / "child"
    os.mkfifo(gate)
    program = suite.folder / "waits.py"
    program.write_text(f"open({str(child)!r}, 'w').write('1')\nopen({str(gate)!r}).read()\nraise SystemExit(33)\n")
    entrypoint = shlex.join([sys.executable, str(program)])
    write_set(suite.vectors, verify_case("ledger/a"))
    arguments = ["test", "--entrypoint", entrypoint, "--vectors", "vectors", "--role", "verify", "--timeout", "600"]
    quoted = shlex.join([sys.executable, "-m", "forum_conformance", *arguments])
    process = subprocess.Popen(
        ["sh", "-c", f"trap '' HUP; exec {quoted}"], cwd=suite.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for_number(child)

    process.send_signal(signal.SIGHUP)
    gate.write_text("")
    process.communicate()

    assert process.returncode == 1


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_result(suite: Suite, redirection: str) -> None:
    write_set(suite.vectors, verify_case("ledger/a"), verify_case("ledger/b"))
    entrypoint = write_entrypoint({"*": VALID_ANSWER, "ledger/b": {"answer": {"verdict": "invalid"}}}, suite.folder)
    arguments = ["test", "--entrypoint", entrypoint, "--vectors", "vectors", "--role", "verify", "--jsonl", "r.jsonl"]
    quoted = shlex.join([sys.executable, "-m", "forum_conformance", *arguments])

    completed = subprocess.run(
        ["sh", "-c", f"{quoted} {redirection}"], cwd=suite.folder, capture_output=True, check=False
    )

    outcomes = [json.loads(line)["state"] for line in (suite.folder / "r.jsonl").read_text().splitlines()]
    assert (completed.returncode, outcomes) == (1, ["passed", "failed"])
    assert b"Traceback" not in completed.stderr


def test_an_internal_error_is_reported_as_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_run", lambda _: 1 // 0)

    code = cli.main([])

    assert code == 70
    assert capsys.readouterr().err.startswith("forum-conformance: internal error: ZeroDivisionError in ")
