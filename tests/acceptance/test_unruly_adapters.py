"""A third-party adapter cannot delay a budget, an interrupt or the end of the process."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import PATIENCE_S, Folder, check_valid, wait_for

# The setting `behavior` selects how the adapter misbehaves. Once `may-answer` exists, it answers normally.
ADAPTER = """
import asyncio, atexit, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from forum_adapters.base import Reply

POOL = ThreadPoolExecutor()

async def raise_exit():
    sys.exit(3)

async def ignore_cancellation():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            Path("asked-to-end").touch()

def sync_late(descriptor, sync=os.fdatasync):
    Path("syncing").touch()
    while not Path("disk-is-back").exists():
        time.sleep(0.001)
    sync(descriptor)
    Path("synced").touch()

class Unruly:
    def __init__(self, name, settings):
        self.behavior = settings["settings"]["behavior"]

    async def answer(self, attempt):
        if Path("may-answer").exists():
            return Reply(b"done")
        Path("at-work").touch()
        match self.behavior:
            case "thread":
                await asyncio.to_thread(time.sleep, 600)
            case "ignore":
                await ignore_cancellation()
            case "exit":
                sys.exit(3)
            case "exit in a task":
                await asyncio.gather(raise_exit(), asyncio.sleep(600))
            case "exit in a thread":
                await asyncio.to_thread(sys.exit, 3)
            case "idle thread":
                POOL.submit(time.sleep, 0).result()
                atexit.register(Path("farewell").touch)
            case "slow disk" if attempt.task == "t0":
                os.fdatasync = sync_late
            case "slow disk":
                await asyncio.sleep(600)
        return Reply(b"done")

    async def probe(self):
        Path("at-work").touch()
        if self.behavior == "ignore":
            await ignore_cancellation()
        if self.behavior == "exit":
            sys.exit(3)

    async def close(self):
        if self.behavior == "exit to close":
            sys.exit(3)
"""
RUN = ("run", "workflow.yaml", "--out", "run", "--progress", "plain")
Completed = tuple[int, str, str]


class UnrulyFolder:
    """A folder with a workflow for the adapter. The fixture kills every process that was started in it."""

    def __init__(self, path: Path) -> None:
        self.folder = Folder(path / "work", {"PYTHONPATH": str(path / "site")})
        self.started: list[subprocess.Popen[bytes]] = []
        info = path / "site" / "forum_unruly-1.dist-info"
        info.mkdir(parents=True)
        (info.parent / "forum_unruly.py").write_text(ADAPTER)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: forum-unruly\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[forum.adapters]\nx-unruly = forum_unruly:Unruly\n")

    def write(self, behavior: str, tasks: int = 1, **policy: Any) -> None:
        adapters = {"own": {"type": "x-unruly", "settings": {"behavior": behavior}}}
        roster = {"adapters": adapters, "agents": {"worker": {"adapter": "own"}}}
        task = {"agent": "worker", "instruction": "Do it.", "idempotent": True}
        self.folder.write({f"t{number}": task for number in range(tasks)}, roster=roster, policy=policy)

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        self.started.append(self.folder.start(*arguments, env=env))
        return self.started[-1]

    def finish(self, process: subprocess.Popen[bytes]) -> Completed:
        """Wait until the process ends."""
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out.decode(), err.decode()

    def wait_for(self, name: str) -> None:
        wait_for(self.folder.path / name, self.started[-1])

    def create(self, name: str) -> None:
        (self.folder.path / name).touch()

    def has(self, name: str) -> bool:
        return (self.folder.path / name).exists()

    def resume(self) -> Completed:
        self.create("may-answer")
        return self.finish(self.start("resume", "run"))


@pytest.fixture
def unruly(tmp_path: Path) -> Iterator[UnrulyFolder]:
    created = UnrulyFolder(tmp_path)
    yield created
    for process in created.started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("behavior", ["thread", "ignore"])
def test_an_exhausted_time_budget_ends_the_process(unruly: UnrulyFolder, behavior: str) -> None:
    unruly.write(behavior, budget={"wall": "2s"})

    process = unruly.start(*RUN, GITHUB_STEP_SUMMARY="summary.md")
    code, out, err = unruly.finish(process)

    assert (code, unruly.folder.task_states()) == (4, {"t0": "stopped: budget"}), (out, err)
    assert out.startswith("stopped (exit 4): 1 stopped")
    assert "retry     forum resume run --failed" in out
    assert "finished: stopped (1 stopped)" in err.splitlines()[-1]
    assert "1 stopped" in unruly.folder.read("summary.md")
    check_valid(unruly.folder.path / "run")


def test_adapter_threads_do_not_starve_the_ledger(unruly: UnrulyFolder) -> None:
    unruly.write("thread", tasks=40, max_parallel=40, durability="each", budget={"wall": "2s"})

    code, out, err = unruly.finish(unruly.start(*RUN))

    assert (code, set(unruly.folder.task_states().values())) == (4, {"stopped: budget"}), (out, err)
    check_valid(unruly.folder.path / "run")


def test_an_interrupt_ends_the_process_despite_a_running_thread(unruly: UnrulyFolder) -> None:
    unruly.write("thread")
    process = unruly.start(*RUN)
    unruly.wait_for("at-work")

    process.send_signal(signal.SIGINT)
    code, out, err = unruly.finish(process)
    resumed = unruly.resume()

    assert (code, out.startswith("interrupted"), "Traceback" in err) == (130, True, False), (out, err)
    assert resumed[0] == 0, resumed
    assert unruly.folder.task_states() == {"t0": "passed"}
    check_valid(unruly.folder.path / "run")


def test_a_second_interrupt_ends_the_process_despite_a_running_call(unruly: UnrulyFolder) -> None:
    unruly.write("ignore")
    process = unruly.start(*RUN)
    unruly.wait_for("at-work")

    process.send_signal(signal.SIGINT)
    unruly.wait_for("asked-to-end")
    process.send_signal(signal.SIGINT)
    code, out, err = unruly.finish(process)
    resumed = unruly.resume()

    message = "forum: interrupted; the run is in 'run'; resume it with: forum resume run"
    assert (code, out, err.splitlines()[-1]) == (130, "", message)
    assert resumed[0] == 0, resumed
    assert unruly.folder.task_states() == {"t0": "passed"}
    check_valid(unruly.folder.path / "run")


def test_a_second_interrupt_waits_for_pending_writes(unruly: UnrulyFolder) -> None:
    unruly.write("slow disk", tasks=2, durability="each")
    process = unruly.start(*RUN)
    unruly.wait_for("syncing")

    # Two pending signals of the same kind may be merged.
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    # A process that does not wait would have exited by then.
    time.sleep(4)
    has_ended = process.poll() is not None
    unruly.create("disk-is-back")
    code, out, err = unruly.finish(process)

    assert (has_ended, code, unruly.has("synced")) == (False, 130, True), (out, err)
    assert unruly.resume()[0] == 0
    check_valid(unruly.folder.path / "run")


@pytest.mark.parametrize("behavior", ["exit", "exit in a task", "exit in a thread"])
def test_an_exit_in_an_adapter_fails_the_attempt(unruly: UnrulyFolder, behavior: str) -> None:
    unruly.write(behavior)

    code, out, err = unruly.finish(unruly.start(*RUN))

    assert (code, unruly.folder.task_states()) == (1, {"t0": "failed: error"}), (out, err)
    assert "t0: internal: the adapter failed: SystemExit: 3" in out
    check_valid(unruly.folder.path / "run")


def test_an_exit_in_close_is_ignored(unruly: UnrulyFolder) -> None:
    unruly.write("exit to close")

    code, out, err = unruly.finish(unruly.start(*RUN))

    assert (code, out.startswith("passed"), "Traceback" in err) == (0, True, False), (out, err)


def test_idle_threads_do_not_prevent_a_normal_exit(unruly: UnrulyFolder) -> None:
    unruly.write("idle thread")

    code, out, err = unruly.finish(unruly.start(*RUN))

    assert (code, unruly.has("farewell")) == (0, True), (out, err)


@pytest.mark.parametrize(
    ("behavior", "problem"), [("ignore", "no answer within 10 s"), ("exit", "the probe failed: SystemExit: 3")]
)
def test_doctor_reports_a_misbehaving_adapter(unruly: UnrulyFolder, behavior: str, problem: str) -> None:
    unruly.write(behavior)

    code, out, err = unruly.finish(unruly.start("doctor", "workflow.yaml"))

    assert (code, problem in out) == (1, True), (out, err)


def test_one_interrupt_ends_doctor(unruly: UnrulyFolder) -> None:
    unruly.write("ignore")
    process = unruly.start("doctor", "workflow.yaml")
    unruly.wait_for("at-work")

    process.send_signal(signal.SIGINT)

    code, out, err = unruly.finish(process)

    assert (code, out, err.strip()) == (130, "", "forum: interrupted")
