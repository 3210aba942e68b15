"""An interrupt between any two steps of the writer may stop it, but never makes the ledger invalid."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType

import pytest

from faults.aftermath import check_unfinished, resume_and_seal
from faults.numbered import append_numbered
from faults.process import Acknowledge, Process
from forum_runner.ledger import Durability, LedgerBrokenError, create_ledger

LEDGER_COUNT = 40 * int(os.environ.get("FORUM_FAULT_ROUNDS", "1"))
INTERRUPTS_PER_LEDGER = 15

rng = random.Random()  # noqa: S311 - no secret


def raise_keyboard_interrupt(_number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt as Ctrl-C does, but only inside the runner's code."""
    if frame is not None and "forum_runner" in frame.f_code.co_filename:
        raise KeyboardInterrupt


def write_through_interrupts(directory: Path, acknowledge: Acknowledge) -> None:
    """Append until the writer breaks, ignoring interrupts."""
    signal.signal(signal.SIGINT, raise_keyboard_interrupt)
    ledger = create_ledger(directory, durability=Durability.NONE)
    acknowledge(0, 0)
    with suppress(LedgerBrokenError):
        for number in count(1):
            with suppress(KeyboardInterrupt):
                acknowledge(append_numbered(ledger.append, number), number)
    acknowledge(0, 0)
    time.sleep(600)


@pytest.mark.requirement("LEDGER-WRITE-004")
def test_a_ledger_can_be_resumed_after_interrupts_at_any_moment(tmp_path: Path) -> None:
    for number in range(LEDGER_COUNT):
        directory = tmp_path / str(number)
        process = Process(partial(write_through_interrupts, directory))
        process.wait_until_working()
        for _ in range(INTERRUPTS_PER_LEDGER):
            time.sleep(rng.uniform(0, 0.001))
            os.kill(process.pid, signal.SIGINT)

        acknowledged = process.kill(after_s=0.001)

        check_unfinished(directory)
        resume_and_seal(directory, [(seq, entry) for seq, entry in acknowledged if seq])
