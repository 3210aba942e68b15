"""Progress on a terminal: a pretend one, and a real one."""

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

Tell = Callable[..., None]
TESTS = Path(__file__).parents[3]
SHOW, HIDE = "\x1b[?25h", "\x1b[?25l"
PROGRAM = """
import sys
from pathlib import Path
from forum_runner.ledger.clock import read_time
from forum_runner.progress import make_progress
from ledgers import EXAMPLES
from unit.runner.progress.example_plan import plan_in

example = EXAMPLES["failed_and_tolerated"]()
progress = make_progress("auto", sys.stderr, color="color" in sys.argv)
progress.opened(example.run_id, Path("d"), plan_in(example.plan))
for seq, entry in enumerate(example.entries):
    progress.entry(seq, read_time(entry["at"]), entry["kind"], entry["data"])
progress.closed()
print("the result")
"""


class CountedStream(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60 columns, whatever the tests themselves run in."""
    for name, value in {"COLUMNS": "60", "LINES": "20", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_the_last_frame_says_how_it_ended_and_stays(tell: Tell) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, is_drawn=False)

    tell(progress, EXAMPLES["cancelled"]())
    progress.closed()

    last = stream.getvalue().rpartition("\x1b[2K")[2]
    assert last == (
        f"test  cancelled  11.2s  {RUN}\n"
        "wave 1 of 2: 2 of 2 ended\n"
        "tasks     ███████████████ 3 of 3  2 cancelled  1 passed\n"
        f"{SHOW}"
    )


def test_frames_are_drawn_by_time_and_not_by_entry() -> None:
    stream = CountedStream()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, is_drawn=False)
    progress.opened("r", Path("d"), None)
    before = stream.writes

    for seq in range(50_000):
        progress.entry(seq, seq, "wave.opened", {"wave": 0})

    assert stream.writes == before
    progress.draw()
    assert stream.writes == before + 1


def test_the_last_things_that_went_wrong_are_shown_and_skips_do_not_bury_them(tell: Tell) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, is_drawn=False)

    tell(progress, EXAMPLES["failed_and_tolerated"](), until=13)
    progress.draw()

    last = stream.getvalue().rpartition("\x1b[2K")[2]
    assert last.splitlines()[-4:] == [
        "risky: attempt 1: error exit_status, 900ms, 160 tokens",
        "risky: tolerated (error), 900ms, 160 tokens",
        "wrong: attempt 1, check 1 of 1 by a schema: fail",
        "wrong: failed (verdict), 900ms, 160 tokens",
    ]


def test_whoever_asks_a_run_to_stop_sees_that_it_was_heard(tell: Tell) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, is_drawn=False)

    tell(progress, EXAMPLES["failed_and_tolerated"](), until=5)
    progress.stopping()
    progress.draw()

    assert stream.getvalue().splitlines()[-1].startswith("stopping: cancelling open calls")


def test_a_wait_is_shown_until_it_is_over_or_something_happens() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = TerminalProgress(stream, color=False, clock=lambda: now[0], is_drawn=False)
    progress.opened("r", Path("d"), None)
    progress.entry(0, 0, "run.opened", {})

    def shown_wait() -> str:
        progress.draw()
        rows = stream.getvalue().rpartition("\x1b[2K")[2].splitlines()
        return "".join(row for row in rows if row.startswith("waiting"))

    progress.waiting(2_000_000, "retry of draft")
    assert shown_wait() == "waiting 2.0s: retry of draft"
    now[0] = 0.5
    assert shown_wait() == "waiting 1.5s: retry of draft"
    now[0] = 2.5
    assert shown_wait() == ""
    progress.waiting(9_000_000, "retry of draft")
    assert shown_wait() == "waiting 6.5s: retry of draft"
    progress.entry(1, 2_500_000, "wave.opened", {"wave": 0})
    assert shown_wait() == ""


def test_keys_that_are_typed_have_a_row_of_their_own(tell: Tell) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, is_drawn=False)

    tell(progress, EXAMPLES["failed_and_tolerated"](), until=5)
    progress.stopping()
    progress.draw()

    assert stream.getvalue().endswith("\n")


def test_a_terminal_that_cannot_be_steered_gets_the_last_frame_alone(
    tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, clock=lambda: 0.0, is_drawn=False)

    tell(progress, EXAMPLES["wide"]())
    progress.closed()

    assert stream.getvalue() == f"test  passed  1m23s  {RUN}\ntasks     ███████████████ 21 of 21  21 passed\n"


def test_closing_twice_or_before_it_was_opened_does_no_harm() -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, is_drawn=False)
    progress.closed()
    assert stream.getvalue() == ""

    progress.opened("r", Path("d"), None)
    progress.closed()
    told = stream.getvalue()
    progress.closed()

    assert stream.getvalue() == told


def test_a_second_run_gets_a_display_of_its_own(tell: Tell) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, color=False, is_drawn=False)

    tell(progress, EXAMPLES["cancelled"]())
    tell(progress, EXAMPLES["wide"]())
    progress.closed()

    assert stream.getvalue().count(SHOW) == stream.getvalue().count(HIDE) == 2
    assert "21 of 21  21 passed\n" in stream.getvalue()


def seen(columns: int, *arguments: str, **environ: str) -> tuple[str, str]:
    """What a real terminal of so many columns gets, and what goes to standard output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS", "LINES")}
    env = {**kept, "TERM": "xterm-256color", "PYTHONPATH": str(TESTS), **environ}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65_536):
                parts.append(part)
        except OSError:
            pass  # how Linux says that the other side is closed
        assert process.stdout is not None
        printed = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n"), printed


@pytest.mark.parametrize("columns", [40, 80, 250])
def test_a_real_terminal_of_any_width(columns: int) -> None:
    screen, printed = seen(columns)

    rows = screen.rpartition("\x1b[2K")[2].split("\n")
    assert printed == "the result\n"
    assert "2 failed" in screen
    assert [row for row in rows if len(row.replace(SHOW, "")) > columns] == []
    assert screen.endswith(SHOW)
    assert (screen.count(HIDE), screen.count(SHOW)) == (1, 1)


def test_a_real_terminal_gets_colour_where_it_is_wanted() -> None:
    assert "\x1b[1;31m2 failed\x1b[0m" in seen(80, "color")[0]
    assert "\x1b[1;31m" not in seen(80)[0]
    assert "\x1b[1;31m" not in seen(80, "color", NO_COLOR="1")[0]


def test_in_ci_a_terminal_gets_plain_lines() -> None:
    screen, _ = seen(80, CI="true")

    assert "\x1b" not in screen
    assert "] wrong: failed (verdict), 900ms, 160 tokens\n" in screen
