"""A ledger has one writer. A second one is refused immediately, and the lock is released when the process ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from faults.aftermath import check_acknowledged, check_valid, entries_in, resume_and_seal
from faults.numbered import append_numbered
from faults.process import Acknowledge, Process
from forum_runner.errors import ForumError
from forum_runner.ledger import Durability, LedgerBusyError, LedgerWriter, create_ledger, open_ledger

pytestmark = pytest.mark.requirement("LEDGER-WRITE-001")

second_writers = pytest.mark.parametrize("second", [create_ledger, open_ledger])


@second_writers
@pytest.mark.parametrize("numbers", [[], [5], [1, 2]], ids=["empty", "lines", "bodies"])
def test_a_second_writer_in_the_same_process_is_refused(
    tmp_path: Path, second: Callable[[Path], LedgerWriter], numbers: list[int]
) -> None:
    with create_ledger(tmp_path / "run") as ledger:
        acknowledged = [(append_numbered(ledger.append, number), number) for number in numbers]
        with pytest.raises(LedgerBusyError, match="is already writing"):
            second(tmp_path / "run")
        acknowledged.append((append_numbered(ledger.append, 7), 7))

    resume_and_seal(tmp_path / "run", acknowledged)


def write_and_wait(directory: Path, acknowledge: Acknowledge) -> None:
    ledger = create_ledger(directory)
    acknowledge(append_numbered(ledger.append, 1), 1)
    time.sleep(600)


@second_writers
def test_a_second_writer_is_refused_until_the_first_process_dies(
    tmp_path: Path, second: Callable[[Path], LedgerWriter]
) -> None:
    process = Process(partial(write_and_wait, tmp_path / "run"))
    process.wait_until_working()

    with pytest.raises(LedgerBusyError):
        second(tmp_path / "run")

    resume_and_seal(tmp_path / "run", process.kill())


def test_only_one_of_many_processes_creates_the_ledger(tmp_path: Path) -> None:
    def work(number: int, acknowledge: Acknowledge) -> None:
        with create_ledger(tmp_path / "run") as ledger:
            acknowledge(append_numbered(ledger.append, number), number)

    processes = [Process(partial(work, number)) for number in range(1, 9)]
    endings = [process.wait() for process in processes]

    acknowledged = [pair for pairs, _ in endings for pair in pairs]
    assert [code for _, code in endings].count(0) == len(acknowledged) == 1
    resume_and_seal(tmp_path / "run", acknowledged)


def fail_to_create_forever(directory: Path, acknowledge: Acknowledge) -> None:
    for number in count():
        try:
            create_ledger(directory, mode="no such mode", durability=Durability.NONE)
        except ForumError:
            acknowledge(number, number)


def test_a_failed_creation_removes_nothing_from_another_writers_ledger(tmp_path: Path) -> None:
    for number in range(20):
        directory = tmp_path / str(number)
        failing = [Process(partial(fail_to_create_forever, directory)) for _ in range(2)]
        for process in failing:
            process.wait_until_working()
        with create_when_unlocked(directory) as ledger:
            acknowledged = [(append_numbered(ledger.append, item), item) for item in range(1, 30)]
            ledger.seal("passed")
        for process in failing:
            process.kill()

        check_valid(directory)
        check_acknowledged(directory, acknowledged)


def create_when_unlocked(directory: Path) -> LedgerWriter:
    while True:
        try:
            return create_ledger(directory, durability=Durability.NONE)
        except LedgerBusyError:
            continue


def test_closing_twice_does_not_close_another_ledgers_files(tmp_path: Path) -> None:
    first = create_ledger(tmp_path / "first")
    first.close()
    with create_ledger(tmp_path / "second") as second:
        first.close()
        second.append("x-note")

    assert len(entries_in(tmp_path / "second")) == 2
