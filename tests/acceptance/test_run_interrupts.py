"""An interrupted run ends its processes, reports the interrupt and can be resumed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from acceptance.workflow_folder import PATIENCE_S, Folder, check_valid, processes_with, sh, wait_for

_RUN = ("run", "workflow.yaml", "--out", "run", "--progress", "plain")
# The duration identifies the processes of these tests.
_NAP = f"sleep 61.{os.getpid()}"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def run_and_interrupt(folder: Folder, signal_: signal.Signals, *, times: int = 1) -> tuple[int, str, str]:
    """Run the workflow and send a signal as soon as a program has created `at-work`."""
    process = folder.start(*_RUN)
    wait_for(folder.path / "at-work", process)
    process.send_signal(signal_)
    if times == 2:
        # The program reports SIGTERM and ignores it.
        wait_for(folder.path / "asked-to-end", process)
        process.send_signal(signal_)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.decode(), err.decode()


def nap_once(nap: str) -> str:
    """A script that sleeps only on its first call."""
    return f"test -e at-work && {{ echo done; exit; }}; touch at-work; {nap}"


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_pauses_and_can_be_resumed(folder: Folder, signal_: signal.Signals) -> None:
    tasks = {
        "before": sh("echo x >> effects; echo before"),
        "napping": sh(nap_once(f"setsid {_NAP} & {_NAP}"), needs=["before"]),
        "after": sh("cat", needs=["napping"]),
    }
    folder.write(tasks)

    code, out, err = run_and_interrupt(folder, signal_)
    remaining = processes_with(_NAP.replace(" ", "\0"))
    states, last = folder.task_states(), folder.entries()[-2:]
    resumed = folder.forum("resume", "run")

    assert (code, remaining, states) == (130, [], {"before": "passed"}), (out, err)
    assert [(entry["kind"], entry["data"].get("status"), entry["data"].get("reason")) for entry in last] == [
        ("task.finished", "cancelled", None),
        ("run.paused", None, "interrupted"),
    ]
    assert out.startswith("interrupted")
    assert "forum resume run" in out
    assert resumed.code == 0, resumed
    assert set(folder.task_states().values()) == {"passed"}
    assert folder.lines("effects") == ["x"]
    check_valid(folder.path / "run")


def test_a_second_interrupt_does_not_wait_for_programs(folder: Folder) -> None:
    stubborn = "trap 'touch asked-to-end' TERM; touch at-work; while :; do sleep 0.1; done"
    again = "test -e at-work && { echo done; exit; }; " + stubborn
    folder.write({"stubborn": sh(f"{again} # {_NAP}", idempotent=True), "after": sh("cat", needs=["stubborn"])})

    code, out, err = run_and_interrupt(folder, signal.SIGINT, times=2)
    remaining = processes_with(_NAP)
    resumed = folder.forum("resume", "run")

    assert (code, remaining) == (130, []), (out, err)
    assert "Traceback" not in err
    assert resumed.code == 0, resumed
    assert set(folder.task_states().values()) == {"passed"}
    check_valid(folder.path / "run")


def test_an_interrupt_during_a_backoff_takes_effect_immediately(folder: Folder) -> None:
    long_backoff = {"attempts": 2, "backoff": "1h", "max_backoff": "1h"}
    folder.write({"fails": sh("touch at-work; exit 1", retry=long_backoff)})
    process = folder.start(*_RUN)
    wait_for(folder.path / "at-work", process)
    while not folder.entries("run", "task.finished"):
        assert process.poll() is None

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert folder.entries()[-1]["data"] == {"reason": "interrupted"}


def test_a_run_can_be_interrupted_and_resumed_twice(folder: Folder) -> None:
    naps = f"test -e $0 && exec echo done; touch $0 at-work; {_NAP}"
    first, second = ({"agent": "operator", "run": ["sh", "-c", naps, name]} for name in ("first", "second"))
    folder.write({"a": first, "b": {**second, "needs": ["a"]}})

    run_and_interrupt(folder, signal.SIGINT)
    (folder.path / "at-work").unlink()
    process = folder.start("resume", "run")
    wait_for(folder.path / "at-work", process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    resumed = folder.forum("resume", "run")

    assert (process.returncode, resumed.code) == (130, 0), resumed
    assert folder.task_states() == {"a": "passed", "b": "passed"}
    check_valid(folder.path / "run")
