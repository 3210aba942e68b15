"""Work for processes that tests kill. Most functions never return."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from faults.numbered import append_numbered
from faults.process import Acknowledge
from forum_runner.ledger import Body, Durability, GroupCommit, LedgerWriter, create_ledger, open_ledger

WRITERS = 8


def append_in_threads(directory: Path, durability: Durability, first: int, acknowledge: Acknowledge) -> None:
    numbers = count(first)
    with open_ledger(directory, durability=durability) as ledger:

        def append_forever() -> None:
            for number in numbers:
                acknowledge(append_numbered(ledger.append, number), number)

        threads = [threading.Thread(target=append_forever) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def append_in_coroutines(directory: Path, durability: Durability, first: int, acknowledge: Acknowledge) -> None:
    numbers = count(first)

    async def append_forever(group: GroupCommit) -> None:
        for number in numbers:
            acknowledge(await append_numbered(group.append, number), number)
            await asyncio.sleep(0)

    async def append_together(ledger: LedgerWriter) -> None:
        group = GroupCommit(ledger)
        await asyncio.gather(*(append_forever(group) for _ in range(WRITERS)))

    with open_ledger(directory, durability=durability) as ledger:
        asyncio.run(append_together(ledger))


APPENDERS: dict[str, Callable[[Path, Durability, int, Acknowledge], None]] = {
    "threads": append_in_threads,
    "coroutines": append_in_coroutines,
}


def create_forever(parent: Path, wave_plan: bytes, acknowledge: Acknowledge) -> None:
    for number in count():
        create_ledger(parent / str(number), wave_plan=wave_plan).close()
        acknowledge(0, number)


def answer_forever(directory: Path, first: int, acknowledge: Acknowledge) -> None:
    with open_ledger(directory, durability=Durability.NONE) as ledger:
        for number in count(first):
            ledger.answer(f"answer_{number}", Body.text(f"answer {number}\n" * 500, is_sensitive=number % 2 == 0))
            acknowledge(append_numbered(ledger.append, number), number)


def seal_forever(directory: Path, first: int, acknowledge: Acknowledge) -> None:
    with open_ledger(directory) as ledger:
        for number in count(first):
            acknowledge(append_numbered(ledger.append, number), number)
            ledger.seal("passed")


def redact_all(directory: Path, bodies: Sequence[tuple[int, str]], acknowledge: Acknowledge) -> None:
    with open_ledger(directory) as ledger:
        for seq, name in bodies:
            acknowledge(ledger.redact(seq, name, f"reason {seq}"), seq)


def repair_forever(directory: Path, acknowledge: Acknowledge) -> None:
    """Tear both files, as a killed writer would, and reopen the ledger."""
    for number, tail in enumerate(_tails()):
        for name in ("ledger.jsonl", "bodies.tar"):
            with (directory / name).open("ab") as stream:
                stream.write(tail)
        acknowledge(number, number)
        with open_ledger(directory):
            pass


def _tails() -> Iterator[bytes]:
    for size in count(1):
        yield os.urandom(size * 389 % 5_000 + 1).replace(b"\n", b" ")
