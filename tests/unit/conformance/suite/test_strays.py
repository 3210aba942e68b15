"""What is left of a program whose processes fork twice and leave its session."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forum_conformance.suite.process import Ending, Process
from forum_conformance.suite.strays import nobody_left_behind
from unit.conformance.suite.leaving import LEAVE, kill, runs

PATIENCE_S = 120.0
HANG = "\nprint('left', flush=True); time.sleep(3600)"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")


@pytest.fixture(autouse=True)
def killed_in_the_end(tmp_path: Path) -> Iterator[None]:
    yield
    for path in tmp_path.glob("*.pid"):
        kill(path)


def start(code: str, folder: Path, stop: threading.Event | None = None) -> Process:
    return Process((sys.executable, "-c", LEAVE + code), folder=folder, stop=stop or threading.Event())


def cut_off(process: Process) -> None:
    """Its time is over when it has left a process behind."""
    assert process.exchange(b"", timeout_s=PATIENCE_S, one_line=True) is Ending.LINE
    process.stdout = b""
    assert process.exchange(b"", timeout_s=0.1, one_line=True) is Ending.TIMEOUT
    process.end()


def test_whoever_left_the_session_is_ended_when_the_time_is_over(tmp_path: Path) -> None:
    with nobody_left_behind():
        cut_off(start("leave('away.pid')" + HANG, tmp_path))

        assert not runs(tmp_path / "away.pid")


def test_those_who_were_started_by_one_who_left_are_ended_too(tmp_path: Path) -> None:
    below = "if os.fork() == 0: os.setsid(); leave('a.pid'); leave('b.pid'); time.sleep(3600)\n"
    wait = "while not os.path.exists('b.pid'): time.sleep(0.01)\n"

    with nobody_left_behind():
        cut_off(start(below + wait + HANG, tmp_path))

        assert [runs(tmp_path / name) for name in ("a.pid", "b.pid")] == [False, False]


def test_whoever_left_is_ended_when_the_suite_is_stopped_also_if_the_program_has_ended(tmp_path: Path) -> None:
    stop = threading.Event()

    with nobody_left_behind():
        process = start("leave('away.pid')", tmp_path, stop)
        assert process.exchange(b"", timeout_s=PATIENCE_S, one_line=True) is Ending.ENDED
        stop.set()
        assert process.exchange(b"", timeout_s=PATIENCE_S, one_line=True) is Ending.STOPPED

        assert (process.end(), runs(tmp_path / "away.pid")) == (0, False)


def test_who_is_left_by_a_program_that_ended_stays_until_the_command_ends(tmp_path: Path) -> None:
    with nobody_left_behind():
        process = start("leave('away.pid')", tmp_path)
        assert process.exchange(b"", timeout_s=PATIENCE_S, one_line=False) is Ending.ENDED
        assert process.end() == 0
        while_it_goes_on = runs(tmp_path / "away.pid")

    assert (while_it_goes_on, runs(tmp_path / "away.pid")) == (True, False)


def test_the_end_of_one_program_touches_nobody_of_another(tmp_path: Path) -> None:
    with nobody_left_behind():
        other = start("leave('other.pid')" + HANG, tmp_path)
        assert other.exchange(b"", timeout_s=PATIENCE_S, one_line=True) is Ending.LINE
        cut_off(start("leave('away.pid')" + HANG, tmp_path))

        assert (runs(tmp_path / "away.pid"), runs(tmp_path / "other.pid")) == (False, True)
        assert other.end() is None
        assert not runs(tmp_path / "other.pid")


def test_one_whose_environment_was_made_anew_is_ended_with_the_command(tmp_path: Path) -> None:
    with nobody_left_behind():
        cut_off(start("leave('away.pid', cleans=True)" + HANG, tmp_path))

    assert not runs(tmp_path / "away.pid")


def test_a_process_that_was_there_before_the_command_is_let_be(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "3600"], start_new_session=True) as stranger:
        with nobody_left_behind():
            cut_off(start("leave('away.pid')" + HANG, tmp_path))

        assert stranger.poll() is None
        stranger.kill()


def test_nothing_waits_to_be_reaped_of_those_who_outlived_their_program(tmp_path: Path) -> None:
    with nobody_left_behind():
        process = start("import subprocess; print(subprocess.Popen(['sleep', '3600']).pid)", tmp_path)
        process.exchange(b"", timeout_s=PATIENCE_S, one_line=False)
        process.end()

        assert not Path(f"/proc/{int(process.stdout)}").exists()
