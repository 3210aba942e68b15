"""Exit codes of `forum run` and `forum resume`, and messages about work that was not done."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from acceptance.workflow_folder import FORUM, PATIENCE_S, Folder, bytes_in, sh, wait_for

GATE = {"question": "Continue?"}
SMALL_BUDGET = {"budget": {"output_bytes": 100}}
TOO_LONG = "seq 1000"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def repeat(folder: Folder, times: int) -> tuple[int, str]:
    result = folder.forum("run", "workflow.yaml", "--repeat", str(times), "--progress", "none")
    return result.code, result.err


@pytest.mark.requirement("RUN-EXIT-001")
def test_repeat_exits_with_the_code_that_all_runs_share_or_with_1(folder: Folder) -> None:
    folder.write({"a": sh(TOO_LONG)}, policy=SMALL_BUDGET)
    assert repeat(folder, 2)[0] == 4

    folder.write({"a": sh("exit 3")})
    assert repeat(folder, 2)[0] == 1

    # The second run finds the file of the first: one run fails, the other is stopped.
    folder.write({"a": sh("test -e was-here || { touch was-here; exit 3; }; " + TOO_LONG)}, policy=SMALL_BUDGET)
    assert repeat(folder, 2)[0] == 1


@pytest.mark.requirement("RUN-EXIT-001")
def test_a_repetition_stops_at_a_gate_and_reports_how_many_runs_were_made(folder: Folder) -> None:
    folder.write({"a": sh("echo a", gate=GATE)})

    code, err = repeat(folder, 3)

    assert code == 5
    assert "stopped after run 1 of 3, which was paused or interrupted" in err


@pytest.mark.requirement("RUN-EXIT-001")
def test_an_interrupted_repetition_exits_130(folder: Folder) -> None:
    folder.write({"a": sh("touch at-work; sleep 60")})
    process = folder.start("run", "workflow.yaml", "--repeat", "3", "--progress", "none")
    wait_for(folder.path / "at-work", process)

    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert b"run 1 of 3: interrupted, " in err
    assert b"stopped after run 1 of 3, which was paused or interrupted" in err


def test_the_first_interrupt_is_acknowledged(folder: Folder) -> None:
    folder.write({"a": sh("trap '' TERM; touch at-work; while :; do sleep 0.1; done")})
    process = folder.start("run", "workflow.yaml", "--out", "run", "--progress", "plain")
    wait_for(folder.path / "at-work", process)

    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert err.decode().count("stopping: cancelling open calls") == 1


@pytest.mark.requirement("RUN-EXIT-001")
@pytest.mark.parametrize(("script", "code", "state"), [("echo a", 1, "passed"), (TOO_LONG, 4, "stopped: budget")])
def test_a_result_that_cannot_be_printed_is_a_failure_and_names_the_run(
    folder: Folder, script: str, code: int, state: str
) -> None:
    folder.write({"a": sh(script)}, policy=SMALL_BUDGET)

    with Path("/dev/full").open("wb") as full:
        command = [*FORUM, "run", "workflow.yaml", "--out", "run", "--progress", "none"]
        result = subprocess.run(command, cwd=folder.path, stdout=full, stderr=subprocess.PIPE, check=False)

    assert result.returncode == code
    assert result.stderr.decode() == ("forum: cannot print the result: No space left on device; the run is in 'run'\n")
    assert folder.task_states() == {"a": state}


def test_pass_rates_that_cannot_be_printed_exit_1_and_name_the_last_run(folder: Folder) -> None:
    folder.write({"a": sh("echo a")})

    with Path("/dev/full").open("wb") as full:
        command = [*FORUM, "run", "workflow.yaml", "--repeat", "2", "--progress", "none"]
        result = subprocess.run(command, cwd=folder.path, stdout=full, stderr=subprocess.PIPE, check=False)

    last = max((folder.path / ".forum/runs").iterdir()).relative_to(folder.path)
    message = f"forum: cannot print the result: No space left on device; the last run is in '{last}'"
    assert (result.returncode, result.stderr.decode().splitlines()[-1]) == (1, message)


@pytest.mark.requirement("RUN-EXIT-001")
@pytest.mark.parametrize("name", ["checkpoint", "outputs/a.txt"])
def test_a_run_whose_files_cannot_be_written_at_its_end_exits_7(folder: Folder, name: str) -> None:
    folder.write({"a": sh(f"mkdir -p run/{name}")}, outputs={"a": "a"})

    result = folder.run()

    assert (result.code, result.out) == (7, ""), result
    assert result.err.startswith(f"forum: 'run/{name}' could not be written: Is a directory; ")


def test_resuming_reports_files_that_changed_since_the_start(folder: Folder) -> None:
    folder.write({"a": sh("echo one", gate=GATE)})
    assert folder.forum("run", "workflow.yaml", "--out", "run").code == 5
    assert folder.forum("gate", "approve", "run", "a", "--by", "ann").code == 0
    unchanged = folder.forum("resume", "run", "--progress", "none")

    folder.write({"a": sh("echo one", gate=GATE)})
    assert folder.forum("run", "workflow.yaml", "--out", "other").code == 5
    folder.write({"a": sh("echo two", gate=GATE)})
    assert folder.forum("gate", "approve", "other", "a", "--by", "ann").code == 0
    changed = folder.forum("resume", "other", "--progress", "none")

    message = (
        "forum: 'workflow.yaml' changed since the run started; the run keeps its plan; "
        "to use the changes, start a new run with 'forum resume --failed'\n"
    )
    assert (unchanged.code, changed.code) == (0, 0)
    assert changed.err == message + unchanged.err


ENDINGS = {
    "passed": (sh("echo a"), {}, 0),
    "failed": (sh("exit 3"), {}, 1),
    "stopped": (sh(TOO_LONG), SMALL_BUDGET, 4),
    "refused": (sh("echo a", gate=GATE), {}, 6),
}


@pytest.mark.requirement("RUN-EXIT-001")
@pytest.mark.parametrize("status", ENDINGS)
def test_resuming_a_finished_run_prints_its_result_and_changes_nothing(folder: Folder, status: str) -> None:
    task, policy, code = ENDINGS[status]
    folder.write({"a": task}, policy=policy)
    first = folder.run()
    if first.code == 5:
        folder.forum("gate", "reject", "run", "a", "--by", "ann")
        first = folder.forum("resume", "run", "--progress", "none")
    before = bytes_in(folder.path / "run")

    repeated = folder.forum("resume", "run", "--progress", "none")
    as_json = folder.forum("resume", "run", "--progress", "none", "--json")

    assert (first.code, repeated.code, as_json.code) == (code, code, code), repeated
    assert repeated.out == first.out
    finished = f"forum: the run has finished with the status '{status}'"
    hint = "" if status == "passed" else "; start a new run from it with 'forum resume --failed'"
    assert repeated.err == as_json.err == f"{finished}{hint}\n"
    assert (as_json.document()["status"], as_json.document()["exit_code"]) == (status, code)
    assert bytes_in(folder.path / "run") == before


def test_resuming_a_finished_run_needs_no_secrets_and_no_invocation(folder: Folder) -> None:
    folder.write({"a": sh("echo ${{ inputs.key }}")}, inputs={"key": {"type": "string", "secret": True}})
    assert folder.run("--input", "key=abcdefgh").code == 0
    (folder.path / "run/invocation.json").unlink()

    result = folder.forum("resume", "run", "--progress", "json")

    assert result.code == 0, result
    (notice,) = [json.loads(line) for line in result.err.splitlines()]
    assert notice["text"] == "the run has finished with the status 'passed'"


def test_an_interrupt_during_startup_prints_no_traceback(folder: Folder) -> None:
    folder.path.mkdir(parents=True)
    # Send the interrupt during the command line's first import.
    (folder.path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    result = subprocess.run(
        [*FORUM, "--help"],
        cwd=folder.path,
        env={"PYTHONPATH": str(folder.path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )

    assert (result.returncode, result.stderr) == (130, b"")
