"""Asks many vectors, side by side."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from forum_conformance.suite.asking import Asker, OneShot, Program, Served, Stopped
from forum_conformance.suite.case import Case
from forum_conformance.suite.result import Tried, refused_late
from forum_conformance.suite.trial import Trial
from forum_conformance.suite.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Settings:
    words: tuple[str, ...]
    """The program and its arguments."""
    timeout_s: float
    jobs: int
    is_served: bool
    levels: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Asked:
    """In no order; not all of them, if the suite was interrupted."""

    tried: tuple[Tried, ...]
    was_interrupted: bool
    lingering: int = 0
    """How many processes did not end when their standard input was closed."""


def ask_all(cases: Sequence[Case], vectors: Vectors, settings: Settings, on_tried: Callable[[Tried], None]) -> Asked:
    """Raises what a vector or the program itself raises; an interrupt ends the asking, and keeps what there is."""
    with TemporaryDirectory(prefix="forum-conformance-", ignore_cleanup_errors=True) as made:
        # A program may compare where files stand with where they really are.
        session = _Session(vectors, settings, Path(made).resolve())
        return session.ask_all(cases, on_tried)


class _Session:
    def __init__(self, vectors: Vectors, settings: Settings, scratch: Path) -> None:
        self._stop = threading.Event()
        self._trial = Trial(vectors, settings.levels, scratch)
        program = Program(settings.words, settings.timeout_s, self._stop, scratch)
        kind = Served if settings.is_served else OneShot
        self._settings = settings
        self._all: list[Asker] = [kind(program) for _ in range(settings.jobs)]
        self._idle: queue.SimpleQueue[Asker] = queue.SimpleQueue()
        for asker in self._all:
            self._idle.put(asker)

    def ask_all(self, cases: Sequence[Case], on_tried: Callable[[Tried], None]) -> Asked:
        tried: list[Tried] = []

        def keep(each: Tried) -> None:
            tried.append(each)
            on_tried(each)

        try:
            with self._pool() as pool:
                if self._settings.is_served:
                    self._ask(pool, cases, keep)
                else:
                    self._ask_by_role(pool, cases, keep)
                lingering = sum(pool.map(lambda asker: not asker.close(), self._all))
        except KeyboardInterrupt:
            return Asked(tuple(tried), was_interrupted=True)
        return Asked(tuple(tried), was_interrupted=False, lingering=lingering)

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        pool = ThreadPoolExecutor(self._settings.jobs)
        try:
            yield pool
        finally:
            # Programs that are still asked are killed: each thread looks at this between two reads.
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for asker in self._all:
                asker.close()

    def _ask(self, pool: ThreadPoolExecutor, cases: Iterable[Case], keep: Callable[[Tried], None]) -> None:
        futures = [pool.submit(self._ask_one, case) for case in cases]
        for future in as_completed(futures):
            keep(future.result())

    def _ask_by_role(self, pool: ThreadPoolExecutor, cases: Sequence[Case], keep: Callable[[Tried], None]) -> None:
        """The first vector of a role tells whether it is offered, so that it does not depend on who is quicker."""
        by_role = groupby(sorted(cases, key=lambda case: (case.role, case.id)), key=lambda case: case.role)
        first, rest = {}, {}
        for role, of_role in by_role:
            first[role], *rest[role] = of_role
        offered: set[str] = set()

        def keep_first(tried: Tried) -> None:
            if tried.reply is None or not tried.reply.is_not_offered:
                offered.add(tried.case.role)
            keep(tried)

        self._ask(pool, first.values(), keep_first)
        for role in sorted(first.keys() - offered):
            for case in rest[role]:
                keep(self._trial.unasked(case))
        wanted = [case for role in sorted(offered) for case in rest[role]]
        self._ask(pool, wanted, lambda tried: keep(_with_late_refusal(tried)))

    def _ask_one(self, case: Case) -> Tried:
        asker = self._idle.get()
        try:
            if self._stop.is_set():
                raise Stopped
            return self._trial.ask(case, asker)
        finally:
            self._idle.put(asker)


def _with_late_refusal(tried: Tried) -> Tried:
    if tried.reply is None or not tried.reply.is_not_offered:
        return tried
    return replace(tried, differences=(refused_late(tried.reply), *tried.differences[1:]))
