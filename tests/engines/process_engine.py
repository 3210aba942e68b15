"""An engine that has attempts carried out in other processes. By a plan of its own it loses some, or says one twice."""

from __future__ import annotations

import asyncio
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random

from engines.worker import BEGUN, frame
from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_runner.execute.machine import Lost, Replied

_WORKER = Path(__file__).with_name("worker.py")
_LENGTH_BYTES = 8


class Fate(Enum):
    FINE = "it is answered"
    TWICE = "it is answered twice"
    NEVER_BEGUN = "its worker is killed before it gets it"
    KILLED = "its worker is killed when it has begun"
    TWICE_LOST = "its worker is killed, and that is said twice"


@dataclass(slots=True)
class Fates:
    """What becomes of each attempt: a function of the seed. `losses` is in percent."""

    seed: int
    losses: int = 30
    _asked: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)

    def of(self, attempt: Attempt) -> Fate:
        key = (attempt.task, attempt.number, attempt.check)
        self._asked[key] += 1
        draw = Random(f"{self.seed}/{key}/{self._asked[key]}")  # noqa: S311 - it is to be the same every time
        if draw.randrange(100) < self.losses:
            return draw.choice((Fate.NEVER_BEGUN, Fate.KILLED, Fate.TWICE_LOST))
        return draw.choice((Fate.FINE, Fate.TWICE))


class Worker:
    """A process that carries out one attempt after another."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._is_killed = False

    async def hand(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(frame(data))
        await self._process.stdin.drain()

    async def read(self) -> bytes:
        assert self._process.stdout is not None
        length = await self._process.stdout.readexactly(_LENGTH_BYTES)
        return await self._process.stdout.readexactly(int.from_bytes(length))

    def kill(self) -> None:
        """Once: a second signal would find out about the end before asyncio does."""
        if not self._is_killed:
            self._is_killed = True
            self._process.kill()

    async def end(self) -> None:
        self.kill()
        await self._process.communicate()


class ProcessEngine:
    """`begun` are the calls that it was given, in order. `on_report` is called with the number of reports so far."""

    def __init__(self, journal: Path, fates: Fates, on_report: Callable[[int], None] = lambda _count: None) -> None:
        self.begun: list[str] = []
        self._journal = journal
        self._fates = fates
        self._on_report = on_report
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._workers: dict[str, Worker] = {}
        self._cancelled: set[str] = set()
        self._idle: list[Worker] = []
        self._found: list[Replied | Lost] = []
        self._reported = 0
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def begin(self, attempt: Attempt) -> None:
        self.begun.append(attempt.id)
        work = self._carry_out(attempt.id, pickle.dumps(attempt), self._fates.of(attempt))
        self._tasks[attempt.id] = asyncio.get_running_loop().create_task(work)

    async def _carry_out(self, call: str, data: bytes, fate: Fate) -> None:
        worker = self._workers[call] = self._idle.pop() if self._idle else await self._new_worker()
        reply = None if call in self._cancelled else await self._asked(worker, data, fate)
        del self._workers[call]
        if reply is not None:
            self._idle.append(worker)
            self._report(*[Replied(call, reply)] * (2 if fate is Fate.TWICE else 1))
            return
        await worker.end()
        if call in self._cancelled:
            self._report(Replied(call, Reply(failure=Failure(ErrorKind.CANCELLED, "it was cancelled"))))
        else:
            self._report(*[Lost(call)] * (2 if fate is Fate.TWICE_LOST else 1))

    async def _asked(self, worker: Worker, data: bytes, fate: Fate) -> Reply | None:
        """None: the worker is gone, and nobody knows."""
        if fate is Fate.NEVER_BEGUN:
            worker.kill()
        try:
            await worker.hand(data)
            assert await worker.read() == BEGUN
            if fate in (Fate.KILLED, Fate.TWICE_LOST):
                worker.kill()
                return None
            reply = pickle.loads(await worker.read())  # noqa: S301 - the worker is ours
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        assert isinstance(reply, Reply)
        return reply

    async def _new_worker(self) -> Worker:
        program = (sys.executable, str(_WORKER), str(self._journal))
        return Worker(await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE))

    def _report(self, *found: Replied | Lost) -> None:
        self._found += found
        self._reported += 1
        self._on_report(self._reported)
        self._wake()

    def cancel(self, call: str) -> None:
        """Ends the worker, if there is one yet."""
        self._cancelled.add(call)
        if call in self._workers:
            self._workers[call].kill()

    def reports(self) -> list[Replied | Lost]:
        found, self._found = self._found, []
        return found

    async def close(self) -> None:
        for call in self._tasks:
            self.cancel(call)
        await asyncio.gather(*self._tasks.values())
        for worker in self._idle:
            await worker.end()
