"""A program as a process: its output and its end."""

import os
import selectors
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.suite.client import absolute_command, status_text
from forum_conformance.suite.process import MAX_ANSWER_BYTES, CannotStart, Ending, Process
from suites.processes import is_running, wait_until_ended

PATIENCE_S = 120.0


def start(code: str, folder: Path, stop: threading.Event | None = None) -> Process:
    return Process((sys.executable, "-c", code), folder=folder, stop=stop or threading.Event())


def test_a_program_reads_its_whole_input_and_answers(tmp_path: Path) -> None:
    process = start("import sys; print(len(sys.stdin.read())); sys.stderr.write('note')", tmp_path)

    ending = process.exchange(b"x" * 1_000_000, timeout_s=PATIENCE_S, is_line_mode=False)

    assert (ending, process.end(), process.stdout, process.stderr) == (Ending.ENDED, 0, b"1000000\n", "note")


def test_a_program_may_answer_without_reading(tmp_path: Path) -> None:
    process = start("import os; os.close(0); print('answer')", tmp_path)

    ending = process.exchange(b"x" * 1_000_000, timeout_s=PATIENCE_S, is_line_mode=False)

    assert (ending, process.end(), process.stdout) == (Ending.ENDED, 0, b"answer\n")


def test_a_program_can_answer_several_lines(tmp_path: Path) -> None:
    process = start("import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)", tmp_path)

    for text in (b"one\n", b"two\n"):
        process.stdout = b""
        assert process.exchange(text, timeout_s=PATIENCE_S, is_line_mode=True) is Ending.LINE
        assert process.stdout == text.upper()
    assert process.close_input(timeout_s=PATIENCE_S) == 0
    assert process.end() == 0


def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    process = start("import time; time.sleep(3600)", tmp_path)

    assert process.exchange(b"", timeout_s=0.1, is_line_mode=False) is Ending.TIMEOUT
    assert process.end() is None


def test_a_program_that_closes_its_output_and_hangs_is_killed(tmp_path: Path) -> None:
    process = start("import os, time; os.close(1); os.close(2); time.sleep(3600)", tmp_path)

    assert process.exchange(b"", timeout_s=0.5, is_line_mode=False) is Ending.TIMEOUT
    assert process.end() is None


def test_a_program_that_writes_too_much_is_killed(tmp_path: Path) -> None:
    process = start("import sys\nwhile True: sys.stdout.write('x' * 65536)", tmp_path)

    assert process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False) is Ending.TOO_LONG
    assert len(process.stdout) > MAX_ANSWER_BYTES
    process.end()


def test_the_end_of_standard_error_is_kept(tmp_path: Path) -> None:
    process = start("import sys\nfor n in range(200_000): sys.stderr.write(f'{n}\\n')", tmp_path)

    process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False)
    process.end()

    assert len(process.stderr) == 4096
    assert process.stderr.endswith("\n199999\n")


def test_child_processes_are_killed_with_the_program(tmp_path: Path) -> None:
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '3600']).pid, flush=True); time.sleep(3600)"
    process = start(code, tmp_path)
    process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=True)
    child = int(process.stdout)

    assert is_running(child)
    process.end()
    wait_until_ended(child)


def test_a_leftover_process_does_not_delay_the_end(tmp_path: Path) -> None:
    process = start("import subprocess; print(subprocess.Popen(['sleep', '3600']).pid)", tmp_path)

    ending = process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False)

    assert (ending, process.end()) == (Ending.ENDED, 0)
    wait_until_ended(int(process.stdout))


class SelectBeforeAnswer:
    """A selector that lets the program answer and exit, and then returns no events once."""

    def __init__(self, selector: selectors.BaseSelector, pid: int, go: Path) -> None:
        self._selector = selector
        self._pid = pid
        self._go = go

    def select(self, timeout: float) -> list[tuple[selectors.SelectorKey, int]]:
        events = self._selector.select(timeout)
        if events or self._go.exists():
            return events
        self._go.touch()
        # WNOWAIT leaves the process to be reaped by its owner.
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        return []

    def __getattr__(self, name: str) -> object:
        return getattr(self._selector, name)


def test_output_between_the_last_select_and_the_end_is_not_lost(tmp_path: Path) -> None:
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('answer')"
    process = start(code, tmp_path)
    selector: Any = SelectBeforeAnswer(process._selector, process._popen.pid, tmp_path / "go")
    process._selector = selector

    ending = process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False)

    assert (ending, process.end(), process.stdout) == (Ending.ENDED, 0, b"answer\n")


def test_no_answer_of_many_concurrent_programs_is_lost(tmp_path: Path) -> None:
    def run_program(_: int) -> tuple[int | None, bytes]:
        process = Process(("sh", "-c", "cat >&2; echo answer"), folder=tmp_path, stop=threading.Event())
        process.exchange(b"{}\n", timeout_s=PATIENCE_S, is_line_mode=False)
        return process.end(), process.stdout

    with ThreadPoolExecutor(64) as pool:
        results = Counter(pool.map(run_program, range(400)))

    assert results == {(0, b"answer\n"): 400}


def test_a_stopped_suite_does_not_wait_for_the_program(tmp_path: Path) -> None:
    stop = threading.Event()
    process = start("import time; time.sleep(3600)", tmp_path, stop)
    stop.set()

    assert process.exchange(b"", timeout_s=PATIENCE_S, is_line_mode=False) is Ending.STOPPED
    process.end()


def test_a_missing_program_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot start '/missing/program': No such file or directory"):
        Process(("/missing/program",), folder=tmp_path, stop=threading.Event())


@pytest.mark.parametrize(
    ("status", "text"),
    [(1, "exit status 1"), (-11, "killed by SIGSEGV"), (-99, "killed by signal 99"), (None, "killed by the suite")],
)
def test_an_exit_status_is_described(status: int | None, text: str) -> None:
    assert status_text(status) == text


def test_existing_paths_in_a_command_become_absolute(tmp_path: Path) -> None:
    (tmp_path / "main.js").touch()
    (tmp_path / "conform").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "verifier").touch()

    assert absolute_command(("node", "main.js", "bin/verifier", "conform", "-x.y", "a/b"), tmp_path) == (
        "node",
        f"{tmp_path}/main.js",
        f"{tmp_path}/bin/verifier",
        "conform",
        "-x.y",
        "a/b",
    )
