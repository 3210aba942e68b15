"""Daemons that a program leaves behind are killed."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forum_conformance.suite.orphan_processes import killing_orphans
from forum_conformance.suite.process import Ending, Process
from unit.conformance.suite.daemons import LEAVE, is_daemon_running, kill_daemon

PATIENCE_S = 120.0
HANG = "\nprint('left', flush=True); time.sleep(3600)"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")


@pytest.fixture(autouse=True)
def kill_daemons(tmp_path: Path) -> Iterator[None]:
    yield
    for path in tmp_path.glob("*.pid"):
        kill_daemon(path)


def start(code: str, folder: Path, stop: threading.Event | None = None) -> Process:
    return Process((sys.executable, "-c", LEAVE + code), folder=folder, stop=stop or threading.Event())


def time_out(process: Process) -> None:
    """Let the program time out after it has left a daemon behind."""
    assert process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=True) is Ending.LINE
    process.stdout = b""
    assert process.exchange(b"", timeout_s=0.1, is_line_mode=True) is Ending.TIMEOUT
    process.end()


def test_a_daemon_is_killed_at_the_timeout(tmp_path: Path) -> None:
    with killing_orphans():
        time_out(start("leave('daemon.pid')" + HANG, tmp_path))

        assert not is_daemon_running(tmp_path / "daemon.pid")


def test_daemons_of_a_daemon_are_killed_too(tmp_path: Path) -> None:
    start_daemons = "if os.fork() == 0: os.setsid(); leave('a.pid'); leave('b.pid'); time.sleep(3600)\n"
    wait = "while not os.path.exists('b.pid'): time.sleep(0.01)\n"

    with killing_orphans():
        time_out(start(start_daemons + wait + HANG, tmp_path))

        assert [is_daemon_running(tmp_path / name) for name in ("a.pid", "b.pid")] == [False, False]


def test_a_daemon_of_an_exited_program_is_killed_when_the_suite_is_stopped(tmp_path: Path) -> None:
    stop = threading.Event()

    with killing_orphans():
        process = start("leave('daemon.pid')", tmp_path, stop)
        assert process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=True) is Ending.ENDED
        stop.set()
        assert process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=True) is Ending.STOPPED

        assert (process.end(), is_daemon_running(tmp_path / "daemon.pid")) == (0, False)


def test_a_daemon_of_an_exited_program_runs_until_the_command_ends(tmp_path: Path) -> None:
    with killing_orphans():
        process = start("leave('daemon.pid')", tmp_path)
        assert process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False) is Ending.ENDED
        assert process.end() == 0
        ran_during_command = is_daemon_running(tmp_path / "daemon.pid")

    assert (ran_during_command, is_daemon_running(tmp_path / "daemon.pid")) == (True, False)


def test_killing_one_program_does_not_affect_another(tmp_path: Path) -> None:
    with killing_orphans():
        other = start("leave('other.pid')" + HANG, tmp_path)
        assert other.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=True) is Ending.LINE
        time_out(start("leave('daemon.pid')" + HANG, tmp_path))

        assert (is_daemon_running(tmp_path / "daemon.pid"), is_daemon_running(tmp_path / "other.pid")) == (False, True)
        assert other.end() is None
        assert not is_daemon_running(tmp_path / "other.pid")


def test_a_daemon_with_an_empty_environment_is_killed_with_the_command(tmp_path: Path) -> None:
    with killing_orphans():
        time_out(start("leave('daemon.pid', cleans=True)" + HANG, tmp_path))

    assert not is_daemon_running(tmp_path / "daemon.pid")


def test_a_process_started_before_the_command_is_not_killed(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "3600"], start_new_session=True) as unrelated:
        with killing_orphans():
            time_out(start("leave('daemon.pid')" + HANG, tmp_path))

        assert unrelated.poll() is None
        unrelated.kill()


def test_processes_that_outlive_their_program_are_reaped(tmp_path: Path) -> None:
    with killing_orphans():
        process = start("import subprocess; print(subprocess.Popen(['sleep', '3600']).pid)", tmp_path)
        process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False)
        process.end()

        assert not Path(f"/proc/{int(process.stdout)}").exists()
