"""Runs started through the API share an event loop outside the main thread and do not affect the process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, check_valid, processes_with, sh
from forum_runner import api
from forum_runner.api import (
    DecisionRequest,
    ForumError,
    InvalidWorkflowError,
    Observer,
    ResumeRequest,
    RetryRequest,
    RunRequest,
    UnfinishedRunError,
    UsageError,
    Workspace,
)
from forum_runner.app.runs_folder import new_directory
from forum_runner.ledger.verification.report import Verdict

# The duration identifies the processes of these tests.
_NAP = f"sleep 62.{os.getpid()}"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
# Attempts whose outcome is unknown are repeated.
_RETRY = {"on_lost": "retry"}
_RUN = RunRequest("workflow.yaml", out=Path("run"))


class RecordingObserver(Observer):
    """Records the kinds of entries, and sets `started` when a task starts."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.started = asyncio.Event()
        self.is_closed = False

    def entry(self, _seq: int, _at_us: int, kind: str, _data: Mapping[str, Any]) -> None:
        self.kinds.append(kind)
        if kind == "task.started":
            self.started.set()

    def closed(self) -> None:
        self.is_closed = True


def workspace(folder: Folder) -> Workspace:
    return Workspace.at(folder.path)


def napping_workflow(path: Path) -> Folder:
    """A workflow whose task sleeps on its first attempt."""
    folder = Folder(path)
    tasks = {"nap": sh(f"test -e napped && exit; touch napped; {_NAP}"), "after": sh("echo b", needs=["nap"])}
    folder.write(tasks, policy=_RETRY)
    return folder


def quick_workflow(path: Path) -> Folder:
    folder = Folder(path)
    folder.write({"a": sh("echo a"), "b": sh("cat", needs=["a"])}, policy=_RETRY)
    return folder


async def wait_for_nap(folder: Folder) -> None:
    while not (folder.path / "napped").exists():
        await asyncio.sleep(0.01)


def run_in_thread(main: Any) -> Any:
    """Run a coroutine in an event loop outside the main thread."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(main)))
    thread.start()
    thread.join()
    return results[0]


def findings(folder: Folder) -> tuple[Any, ...]:
    report = api.verify(workspace(folder), "run")
    return tuple(finding for finding in report.findings if report.verdict is not Verdict.INCOMPLETE)


def test_cancelling_a_run_does_not_affect_another_run_in_its_event_loop(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cancelled, completed = napping_workflow(tmp_path / "cancelled"), quick_workflow(tmp_path / "completed")
    observer = RecordingObserver()
    handlers = [signal.getsignal(number) for number in _SIGNALS]

    async def main() -> tuple[str, str]:
        handle = await api.start(workspace(cancelled), _RUN, observer)
        other = asyncio.create_task(api.run(workspace(completed), _RUN))
        await wait_for_nap(cancelled)
        handle.cancel()
        return (await handle.wait()).status, (await other).status

    assert run_in_thread(main()) == ("paused", "passed")
    assert [signal.getsignal(number) for number in _SIGNALS] == handlers
    assert capfd.readouterr() == ("", "")
    assert (observer.kinds[-1], observer.is_closed) == ("run.paused", True)
    assert processes_with(_NAP.replace(" ", "\0")) == []
    assert (findings(cancelled), findings(completed)) == ((), ())
    check_valid(completed.path / "run")

    assert run_in_thread(api.resume(workspace(cancelled), ResumeRequest("run"))).status == "passed"
    check_valid(cancelled.path / "run")


def test_twenty_concurrent_scripted_runs_are_all_valid(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write(
        {name: ask(f"Write {name}.") for name in "abc"},
        roster=MODEL,
        answers=[{"output": "text", "latency": "20ms"}],
    )

    async def main() -> list[str]:
        requests = [RunRequest("workflow.yaml", is_scripted=True, out=Path(f"run-{number}")) for number in range(20)]
        runs = await asyncio.gather(*(api.run(workspace(folder), request) for request in requests))
        return [finished.run for finished in runs]

    assert len(set(asyncio.run(main()))) == 20
    for number in range(20):
        check_valid(tmp_path / f"run-{number}")


def test_a_run_directory_is_chosen_once(tmp_path: Path) -> None:
    names = [new_directory(tmp_path / "runs", "id").name for _ in range(3)]

    assert names == ["id", "id.2", "id.3"]


def test_deterministic_runs_in_several_threads_get_a_directory_each(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": ask("Write.")}, roster=MODEL, answers=[{"output": "text"}])
    request = RunRequest("workflow.yaml", is_deterministic=True)
    barrier = threading.Barrier(8)

    def run(_: int) -> Path:
        barrier.wait()
        return asyncio.run(api.run(workspace(folder), request)).directory

    with ThreadPoolExecutor(8) as threads:
        directories = list(threads.map(run, range(8)))

    assert len(set(directories)) == 8


@pytest.mark.parametrize("times", [1, 2])
def test_cancelling_the_task_that_waits_pauses_the_run(tmp_path: Path, times: int) -> None:
    folder = napping_workflow(tmp_path)

    async def main() -> None:
        task = asyncio.create_task(api.run(workspace(folder), _RUN))
        await wait_for_nap(folder)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await api.resume(workspace(folder), ResumeRequest("run"))).status == "passed"

    asyncio.run(main())
    assert processes_with(_NAP.replace(" ", "\0")) == []
    assert findings(folder) == ()


def test_a_run_cancelled_without_delay_can_be_resumed(tmp_path: Path) -> None:
    folder = napping_workflow(tmp_path)

    async def main() -> str:
        handle = await api.start(workspace(folder), _RUN)
        await wait_for_nap(folder)
        handle.cancel(now=True)
        with pytest.raises(UnfinishedRunError):
            await handle.wait()
        return (await api.resume(workspace(folder), ResumeRequest("run"))).status

    assert asyncio.run(main()) == "passed"
    check_valid(folder.path / "run")


def test_a_run_cancelled_right_after_its_start_can_be_resumed(tmp_path: Path) -> None:
    folder = quick_workflow(tmp_path)

    async def main() -> str:
        handle = await api.start(workspace(folder), _RUN)
        handle.cancel(now=True)
        with pytest.raises(UnfinishedRunError):
            await handle.wait()
        return (await api.resume(workspace(folder), ResumeRequest("run"))).status

    assert asyncio.run(main()) == "passed"
    check_valid(folder.path / "run")


def test_a_run_is_cancelled_by_its_id_from_another_thread(tmp_path: Path) -> None:
    folder = napping_workflow(tmp_path)

    async def main() -> str:
        handle = await api.start(workspace(folder), RunRequest("workflow.yaml"))
        await wait_for_nap(folder)
        await asyncio.to_thread(api.cancel, workspace(folder), handle.run)
        finished = await handle.wait()
        with pytest.raises(ForumError, match="this process is not running"):
            api.cancel(workspace(folder), handle.run)
        return finished.status

    assert asyncio.run(main()) == "paused"


def test_a_gate_is_decided_while_its_run_waits(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": sh("echo a", gate={"question": "Go?"}), "b": sh(f"{_NAP} & wait")})

    async def main() -> tuple[bool, str]:
        observer = RecordingObserver()
        handle = await api.start(workspace(folder), _RUN, observer)
        await observer.started.wait()
        decision = await api.decide(workspace(folder), DecisionRequest("run", "a", "approved", "ann"))
        handle.cancel()
        return decision.is_running, (await handle.wait()).status

    assert asyncio.run(main()) == (True, "paused")


def test_a_deterministic_run_yields_to_the_event_loop_and_can_be_cancelled(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    tasks = {f"t{n}": ask("Write.") for n in range(300)}
    folder.write(tasks, roster=MODEL, answers=[{"output": "text"}], policy=_RETRY)
    request = RunRequest("workflow.yaml", is_deterministic=True, out=Path("run"))

    async def main() -> str:
        handle = await api.start(workspace(folder), request)
        await asyncio.sleep(0)
        handle.cancel()
        with pytest.raises(UnfinishedRunError):
            await handle.wait()
        return (await api.resume(workspace(folder), ResumeRequest("run"))).status

    assert asyncio.run(main()) == "passed"
    check_valid(folder.path / "run")


@pytest.mark.parametrize("mode", ["live", "scripted", "deterministic"])
def test_a_run_is_resumed_only_with_a_request_of_its_mode(tmp_path: Path, mode: str) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": sh("true", gate={"question": "Go?"})}, answers=[{"task": "a", "output": "x"}])
    requests = {
        "live": _RUN,
        "scripted": replace(_RUN, is_scripted=True),
        "deterministic": replace(_RUN, is_deterministic=True),
    }

    assert asyncio.run(api.run(workspace(folder), requests.pop(mode))).status == "paused"

    for other, request in requests.items():
        with pytest.raises(UsageError, match=f"the run is {mode}, but the request is {other}"):
            asyncio.run(api.resume(workspace(folder), ResumeRequest("run", started_with=request)))


def test_a_retried_run_reuses_the_results_that_passed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": sh("echo a"), "b": sh("test -e ready && echo b", needs=["a"])})

    async def main() -> tuple[str, str]:
        first = await api.run(workspace(folder), _RUN)
        (tmp_path / "ready").touch()
        second = await api.retry(workspace(folder), RetryRequest("run", out=Path("again")))
        return first.status, second.status

    assert asyncio.run(main()) == ("failed", "passed")
    assert folder.reused_tasks("again") == {"a"}


def test_errors_of_api_calls_are_forum_errors(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"a": {"agent": "nobody", "run": ["true"]}})
    workspace_ = workspace(folder)

    with pytest.raises(InvalidWorkflowError, match="nobody"):
        asyncio.run(api.run(workspace_, _RUN))
    for call in (
        lambda: api.verify(workspace_, "nowhere"),
        lambda: api.show(workspace_, "nowhere"),
        lambda: api.keygen(workspace_, "name", Path("nowhere/key")),
        lambda: api.checkpoint(workspace_, "nowhere"),
        lambda: api.explain("F999"),
    ):
        with pytest.raises(ForumError):
            call()


_WITHOUT_CURRENT_DIRECTORY = """
import asyncio, os, sys
from pathlib import Path
from forum_runner import api

folder, nowhere = map(Path, sys.argv[1:])
nowhere.mkdir()
os.chdir(nowhere)
nowhere.rmdir()
workspace = api.Workspace.at(folder)
assert not api.check(workspace, ["workflow.yaml"]).findings
finished = asyncio.run(api.run(workspace, api.RunRequest("workflow.yaml")))
run = finished.run
asyncio.run(api.resume(workspace, api.ResumeRequest(run)))
asyncio.run(api.retry(workspace, api.RetryRequest(run)))
asyncio.run(api.doctor(workspace, "workflow.yaml"))
api.compile(workspace, "workflow.yaml", out=Path("wave-plan.json"))
api.checkpoint(workspace, run, out=Path("checkpoint"))
api.keygen(workspace, "ann", Path("key"))
finished.result(), api.show(workspace, run), api.gates(workspace, run), api.diff(workspace, run, run)
report = api.verify(workspace, run, trusted=api.TrustedReferences(pin=Path("pin")), updates_pin=True)
print(report.verdict, api.replay(workspace, run).is_same)
"""


def test_no_api_call_needs_the_current_directory(tmp_path: Path) -> None:
    folder = quick_workflow(tmp_path / "work")

    result = subprocess.run(
        [sys.executable, "-c", _WITHOUT_CURRENT_DIRECTORY, folder.path, tmp_path / "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, "valid True\n", "")
    assert {"wave-plan.json", "checkpoint", "key", "key.pub", "pin"} <= folder.files()
