"""The progress display depends on the mode, the stream and the environment, and tolerates closed streams."""

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest

from forum_runner.progress import MODES, make_progress
from ledgers import EXAMPLES

Feed = Callable[..., None]
PROGRAM = """
import sys
from pathlib import Path
from forum_runner.progress import make_progress

sys.stdin.readline()
progress = make_progress(sys.argv[1], sys.stdout, color=False)
progress.opened("r", Path("d"), None)
for seq in range(100):
    progress.entry(seq, seq, "wave.opened", {"wave": 0})
progress.closed()
print("continued", file=sys.stderr)
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "kind"),
    [
        (Terminal(), {"TERM": "xterm"}, "TerminalProgress"),
        (Terminal(), {}, "TerminalProgress"),
        (Terminal(), {"TERM": "dumb"}, "PlainProgress"),
        (Terminal(), {"TERM": "xterm", "CI": "true"}, "PlainProgress"),
        (io.StringIO(), {"TERM": "xterm"}, "PlainProgress"),
    ],
)
def test_auto_depends_on_the_stream_and_the_environment(
    stream: io.StringIO, environ: dict[str, str], kind: str
) -> None:
    assert type(make_progress("auto", stream, color=False, environ=environ)).__name__ == kind


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("tty", "TerminalProgress"), ("plain", "PlainProgress"), ("json", "JsonProgress"), ("none", "RunDisplay")],
)
def test_an_explicit_mode_is_used_on_any_stream(mode: str, kind: str) -> None:
    assert type(make_progress(mode, io.StringIO(), color=False)).__name__ == kind


def test_an_unknown_mode_is_rejected() -> None:
    with pytest.raises(ValueError, match="unknown progress mode 'loud'"):
        make_progress("loud", io.StringIO(), color=False)


@pytest.mark.parametrize("name", EXAMPLES)
def test_mode_none_prints_nothing(feed: Feed, name: str) -> None:
    stream = io.StringIO()
    progress = make_progress("none", stream, color=True)

    feed(progress, EXAMPLES[name](), earlier_count=2)
    progress.waiting(0, "nothing")
    progress.closed()

    assert stream.getvalue() == ""


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "auto"])
def test_a_closed_pipe_does_not_end_the_run(mode: str) -> None:
    command = [sys.executable, "-c", PROGRAM, mode]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(b"\n")

    assert (process.returncode, errors) == (0, b"continued\n")


@pytest.mark.parametrize("mode", ["plain", "json", "tty"])
def test_a_terminal_that_hangs_up_does_not_end_the_run(mode: str) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=terminal, stderr=subprocess.PIPE) as process:
        os.close(terminal)
        os.close(controller)
        _, errors = process.communicate(b"\n")

    assert (process.returncode, errors) == (0, b"continued\n")


def test_rich_is_loaded_only_for_a_terminal() -> None:
    program = (
        "import io, sys\nfrom forum_runner.progress import make_progress\n"
        "for mode in ('plain', 'json', 'none'):\n    make_progress(mode, io.StringIO(), color=False)\n"
        "print('rich' in sys.modules)\nmake_progress('tty', io.StringIO(), color=False)\nprint('rich' in sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout == "False\nTrue\n"
