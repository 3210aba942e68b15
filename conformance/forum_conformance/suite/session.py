"""Ask many vectors in parallel."""

import queue
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from forum_conformance.suite.case import Case
from forum_conformance.suite.client import Client, OneShot, Program, Served, Stopped
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.result import Tried, abandoned_difference, refused_late
from forum_conformance.suite.trial import Trial
from forum_conformance.suite.vectors import Vectors

_Keep: TypeAlias = Callable[[Tried], None]
_Waiting: TypeAlias = dict[str, list[Case]]
"""The pending vectors, by role."""


@dataclass(frozen=True, slots=True)
class Settings:
    words: tuple[str, ...]
    """The program and its arguments."""
    timeout_s: float
    jobs: int
    is_served: bool
    levels: frozenset[int] | None
    gives_up_after: int | None = None
    """A role is abandoned if this many of its first vectors get no answer, all for the same reason."""
    forgiven: Collection[str] = ()
    """The ids that are expected to fail: they never cause a role to be abandoned."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Unordered; incomplete if the suite was interrupted."""

    tried: tuple[Tried, ...]
    was_interrupted: bool
    bad_ends: tuple[str, ...] = ()
    """Problems at the exit of processes that answered every request, without duplicates."""


def ask_all(cases: Sequence[Case], vectors: Vectors, settings: Settings, on_tried: Callable[[Tried], None]) -> Asked:
    """Ask all vectors; propagate errors of vectors and programs. An interrupt stops, and keeps the results."""
    with TemporaryDirectory(prefix="forum-conformance-", ignore_cleanup_errors=True) as made:
        # A program may compare paths with their resolved form.
        session = _Session(vectors, settings, Path(made).resolve())
        return session.ask_all(cases, on_tried)


class _Session:
    def __init__(self, vectors: Vectors, settings: Settings, scratch: Path) -> None:
        self._stop = threading.Event()
        self._trial = Trial(vectors, settings.levels, scratch)
        program = Program(settings.words, settings.timeout_s, self._stop, scratch)
        kind = Served if settings.is_served else OneShot
        self._settings = settings
        self._all: list[Client] = [kind(program) for _ in range(settings.jobs)]
        self._idle: queue.SimpleQueue[Client] = queue.SimpleQueue()
        for client in self._all:
            self._idle.put(client)

    def ask_all(self, cases: Sequence[Case], on_tried: Callable[[Tried], None]) -> Asked:
        tried: list[Tried] = []

        def keep(each: Tried) -> None:
            tried.append(each)
            on_tried(each)

        try:
            with self._pool() as pool:
                waiting = _by_role(cases)
                if not self._settings.is_served:
                    waiting = self._ask_first_of_each(pool, waiting, keep)
                self._probe(pool, waiting, tried, keep)
                self._ask(pool, _all_of(waiting), lambda each: keep(_with_late_refusal(each)))
                bad_ends = {problem for problem in pool.map(lambda client: client.close(), self._all) if problem}
        except KeyboardInterrupt:
            return Asked(tuple(tried), was_interrupted=True)
        return Asked(tuple(tried), was_interrupted=False, bad_ends=tuple(sorted(bad_ends)))

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        pool = ThreadPoolExecutor(self._settings.jobs)
        try:
            yield pool
        finally:
            # Kill running programs: each thread checks this between two reads.
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for client in self._all:
                client.close()

    def _ask(self, pool: ThreadPoolExecutor, cases: Iterable[Case], keep: _Keep) -> None:
        waiting = {pool.submit(self._ask_one, case) for case in cases}
        try:
            for future in as_completed(set(waiting)):
                waiting.discard(future)
                keep(future.result())
        except KeyboardInterrupt:
            # Include the answers that arrived before the interrupt.
            for future in waiting:
                if future.done() and not future.cancelled() and future.exception() is None:
                    keep(future.result())
            raise

    def _ask_first_of_each(self, pool: ThreadPoolExecutor, waiting: _Waiting, keep: _Keep) -> _Waiting:
        """Ask the first vector of a role first: it decides whether the role is offered, independent of timing."""
        offered: set[str] = set()

        def keep_first(tried: Tried) -> None:
            if tried.reply is None or not tried.reply.is_not_offered:
                offered.add(tried.case.role)
            keep(tried)

        self._ask(pool, [of_role[0] for of_role in waiting.values()], keep_first)
        for role in waiting.keys() - offered:
            for case in waiting[role][1:]:
                keep(self._trial.unasked(case))
        return {role: of_role[1:] for role, of_role in waiting.items() if role in offered}

    def _probe(self, pool: ThreadPoolExecutor, waiting: _Waiting, tried: Sequence[Tried], keep: _Keep) -> None:
        """Ask the first few vectors of each role, and remove abandoned roles from the pending ones."""
        enough = self._settings.gives_up_after
        if enough is None:
            return
        probes = {}
        for role, of_role in waiting.items():
            count = enough - sum(each.case.role == role for each in tried)
            probes[role], waiting[role] = of_role[:count], of_role[count:]
        self._ask(pool, _all_of(probes), lambda each: keep(_with_late_refusal(each)))
        for role, of_role in waiting.items():
            asked = [each for each in tried if each.case.role == role]
            if of_role and len(asked) >= enough and (problem := self._shared_problem(asked)):
                for case in of_role:
                    keep(replace(self._trial.unasked(case), differences=(abandoned_difference(problem, enough),)))
                waiting[role] = []

    def _shared_problem(self, asked: Sequence[Tried]) -> Difference | None:
        problems = [each.reply.problem if each.reply else None for each in asked]
        first = problems[0]
        if first is None or any(each.case.id in self._settings.forgiven for each in asked):
            return None
        is_shared = all(each and (each.place, each.came) == (first.place, first.came) for each in problems)
        return first if is_shared else None

    def _ask_one(self, case: Case) -> Tried:
        client = self._idle.get()
        try:
            if self._stop.is_set():
                raise Stopped
            return self._trial.ask(case, client)
        finally:
            self._idle.put(client)


def _by_role(cases: Iterable[Case]) -> _Waiting:
    ordered = sorted(cases, key=lambda case: (case.role, case.id))
    return {role: list(of_role) for role, of_role in groupby(ordered, key=lambda case: case.role)}


def _all_of(waiting: Mapping[str, Sequence[Case]]) -> list[Case]:
    return [case for of_role in waiting.values() for case in of_role]


def _with_late_refusal(tried: Tried) -> Tried:
    if tried.reply is None or not tried.reply.is_not_offered:
        return tried
    return replace(tried, differences=(refused_late(tried.reply), *tried.differences[1:]))
