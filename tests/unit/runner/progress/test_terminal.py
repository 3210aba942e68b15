"""Progress on a fake terminal and on a real one."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_ledger.files import RUN
from forum_runner.progress.terminal import TerminalProgress
from ledgers import EXAMPLES

Feed = Callable[..., None]
TESTS = Path(__file__).parents[3]
SHOW, HIDE = "\x1b[?25h", "\x1b[?25l"
PROGRAM = """
import sys
from pathlib import Path
from forum_runner.ledger.clock import parse_time
from forum_runner.progress import make_progress
from ledgers import EXAMPLES
from unit.runner.progress.example_plan import typed_plan

example = EXAMPLES["failed_and_tolerated"]()
progress = make_progress("auto", sys.stderr, color="color" in sys.argv)
progress.opened(example.run_id, Path("d"), typed_plan(example.plan))
for seq, entry in enumerate(example.entries):
    progress.entry(seq, parse_time(entry["at"]), entry["kind"], entry["data"])
progress.closed()
print("the result")
"""


class CountingStream(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a terminal of 60 columns, regardless of where the tests run."""
    for name, value in {"COLUMNS": "60", "LINES": "20", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_the_last_frame_shows_the_result_and_remains_on_the_screen(feed: Feed) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, auto_refresh=False)

    feed(progress, EXAMPLES["cancelled"]())
    progress.closed()

    last = stream.getvalue().rpartition("\x1b[2K")[2]
    assert last == (
        f"test  cancelled  11.2s  {RUN}\n"
        "wave 1 of 2: 2 of 2 ended\n"
        "tasks     ███████████████ 3 of 3  2 cancelled  1 passed\n"
        f"{SHOW}"
    )


def test_frames_are_drawn_by_time_and_not_by_entry() -> None:
    stream = CountingStream()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, auto_refresh=False)
    progress.opened("r", Path("d"), None)
    before = stream.writes

    for seq in range(50_000):
        progress.entry(seq, seq, "wave.opened", {"wave": 0})

    assert stream.writes == before
    progress.draw()
    assert stream.writes == before + 1


def test_the_latest_failures_are_shown_and_not_displaced_by_skips(feed: Feed) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, auto_refresh=False)

    feed(progress, EXAMPLES["failed_and_tolerated"](), until=13)
    progress.draw()

    last = stream.getvalue().rpartition("\x1b[2K")[2]
    assert last.splitlines()[-4:] == [
        "risky: attempt 1: error exit_status, 900ms, 160 tokens",
        "risky: tolerated (error), 900ms, 160 tokens",
        "wrong: attempt 1, check 1 of 1 by a schema: fail",
        "wrong: failed (verdict), 900ms, 160 tokens",
    ]


def test_a_stop_request_is_acknowledged(feed: Feed) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, auto_refresh=False)

    feed(progress, EXAMPLES["failed_and_tolerated"](), until=5)
    progress.stopping()
    progress.draw()

    assert stream.getvalue().splitlines()[-1].startswith("stopping: cancelling open calls")


def test_a_wait_is_shown_until_it_ends_or_an_entry_arrives() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = TerminalProgress(stream, color=False, clock=lambda: now[0], auto_refresh=False)
    progress.opened("r", Path("d"), None)
    progress.entry(0, 0, "run.opened", {})

    def displayed_wait() -> str:
        progress.draw()
        rows = stream.getvalue().rpartition("\x1b[2K")[2].splitlines()
        return "".join(row for row in rows if row.startswith("waiting"))

    progress.waiting(2_000_000, "retry of draft")
    assert displayed_wait() == "waiting 2.0s: retry of draft"
    now[0] = 0.5
    assert displayed_wait() == "waiting 1.5s: retry of draft"
    now[0] = 2.5
    assert displayed_wait() == ""
    progress.waiting(9_000_000, "retry of draft")
    assert displayed_wait() == "waiting 6.5s: retry of draft"
    progress.entry(1, 2_500_000, "wave.opened", {"wave": 0})
    assert displayed_wait() == ""


def test_the_cursor_stays_on_an_empty_row_for_typed_keys(feed: Feed) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, auto_refresh=False)

    feed(progress, EXAMPLES["failed_and_tolerated"](), until=5)
    progress.stopping()
    progress.draw()

    assert stream.getvalue().endswith("\n")


def test_a_dumb_terminal_gets_only_the_last_frame(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, auto_refresh=False)

    feed(progress, EXAMPLES["wide"]())
    progress.closed()

    assert stream.getvalue() == f"test  passed  1m23s  {RUN}\ntasks     ███████████████ 21 of 21  21 passed\n"


def test_closing_twice_or_before_opening_is_harmless() -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, auto_refresh=False)
    progress.closed()
    assert stream.getvalue() == ""

    progress.opened("r", Path("d"), None)
    progress.closed()
    text = stream.getvalue()
    progress.closed()

    assert stream.getvalue() == text


def test_a_second_run_gets_its_own_display(feed: Feed) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, auto_refresh=False)

    feed(progress, EXAMPLES["cancelled"]())
    feed(progress, EXAMPLES["wide"]())
    progress.closed()

    assert stream.getvalue().count(SHOW) == stream.getvalue().count(HIDE) == 2
    assert "21 of 21  21 passed\n" in stream.getvalue()


def run_on_terminal(columns: int, *arguments: str, **environ: str) -> tuple[str, str]:
    """Return the output to a real terminal of this width, and the standard output."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS", "LINES")
    }
    env = {**inherited, "TERM": "xterm-256color", "PYTHONPATH": str(TESTS), **environ}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=env) as process:
        os.close(terminal)
        parts = []
        try:
            while part := os.read(controller, 65_536):
                parts.append(part)
        except OSError:
            pass  # On Linux, reading fails once the other side is closed.
        assert process.stdout is not None
        printed = process.stdout.read().decode()
    os.close(controller)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n"), printed


@pytest.mark.parametrize("columns", [40, 80, 250])
def test_lines_fit_a_real_terminal_of_any_width(columns: int) -> None:
    screen, printed = run_on_terminal(columns)

    rows = screen.rpartition("\x1b[2K")[2].split("\n")
    assert printed == "the result\n"
    assert "2 failed" in screen
    assert [row for row in rows if len(row.replace(SHOW, "")) > columns] == []
    assert screen.endswith(SHOW)
    assert (screen.count(HIDE), screen.count(SHOW)) == (1, 1)


def test_a_real_terminal_gets_color_if_enabled() -> None:
    assert "\x1b[1;31m2 failed\x1b[0m" in run_on_terminal(80, "color")[0]
    assert "\x1b[1;31m" not in run_on_terminal(80)[0]
    assert "\x1b[1;31m" not in run_on_terminal(80, "color", NO_COLOR="1")[0]


def test_a_terminal_in_ci_gets_plain_lines() -> None:
    screen, _ = run_on_terminal(80, CI="true")

    assert "\x1b" not in screen
    assert "] wrong: failed (verdict), 900ms, 160 tokens\n" in screen
