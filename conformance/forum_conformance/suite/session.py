"""Run many vectors in parallel."""

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
from forum_conformance.suite.client import Client, OneShotClient, Program, ServeClient, Stopped
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.result import VectorOutcome, abandoned_difference, late_refusal_difference
from forum_conformance.suite.vector_runner import VectorRunner
from forum_conformance.suite.vectors import Vectors

_Recorder: TypeAlias = Callable[[VectorOutcome], None]
_CasesByRole: TypeAlias = dict[str, list[Case]]


@dataclass(frozen=True, slots=True)
class Settings:
    command: tuple[str, ...]
    """The program and its arguments."""
    timeout_s: float
    jobs: int
    is_served: bool
    """Whether one process per job serves many requests."""
    levels: frozenset[int] | None
    """The requested levels of `verify`; None for all."""
    abandon_after: int | None = None
    """A role is abandoned if this many of its first vectors get no answer, all for the same reason."""
    expected_failures: Collection[str] = ()
    """The ids that are expected to fail: they never cause a role to be abandoned."""


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The outcomes, in no particular order; incomplete if the suite was interrupted."""

    outcomes: tuple[VectorOutcome, ...]
    was_interrupted: bool
    exit_problems: tuple[str, ...] = ()
    """Problems at the exit of processes that answered every request, without duplicates."""


def run_vectors(
    cases: Sequence[Case], vectors: Vectors, settings: Settings, on_outcome: Callable[[VectorOutcome], None]
) -> SessionResult:
    """Run all vectors. An interrupt stops the suite and keeps the outcomes so far.

    Raises BrokenVectors, and CannotStart if the program cannot be started.
    """
    with TemporaryDirectory(prefix="forum-conformance-", ignore_cleanup_errors=True) as scratch:
        # A program may compare paths with their resolved form.
        session = _Session(vectors, settings, Path(scratch).resolve())
        return session.run(cases, on_outcome)


class _Session:
    def __init__(self, vectors: Vectors, settings: Settings, scratch: Path) -> None:
        self._stop = threading.Event()
        self._runner = VectorRunner(vectors, settings.levels, scratch)
        program = Program(settings.command, settings.timeout_s, self._stop, scratch)
        client_type = ServeClient if settings.is_served else OneShotClient
        self._settings = settings
        self._clients: list[Client] = [client_type(program) for _ in range(settings.jobs)]
        self._idle: queue.SimpleQueue[Client] = queue.SimpleQueue()
        for client in self._clients:
            self._idle.put(client)

    def run(self, cases: Sequence[Case], on_outcome: Callable[[VectorOutcome], None]) -> SessionResult:
        outcomes: list[VectorOutcome] = []

        def record(outcome: VectorOutcome) -> None:
            outcomes.append(outcome)
            on_outcome(outcome)

        try:
            with self._pool() as pool:
                pending = _by_role(cases)
                if not self._settings.is_served:
                    pending = self._run_first_of_each_role(pool, pending, record)
                self._probe(pool, pending, outcomes, record)
                self._run_cases(pool, _flatten(pending), lambda outcome: record(_with_late_refusal(outcome)))
                problems = {problem for problem in pool.map(lambda client: client.close(), self._clients) if problem}
        except KeyboardInterrupt:
            return SessionResult(tuple(outcomes), was_interrupted=True)
        return SessionResult(tuple(outcomes), was_interrupted=False, exit_problems=tuple(sorted(problems)))

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        pool = ThreadPoolExecutor(self._settings.jobs)
        try:
            yield pool
        finally:
            # Kill running programs: each thread checks this between two reads.
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for client in self._clients:
                client.close()

    def _run_cases(self, pool: ThreadPoolExecutor, cases: Iterable[Case], record: _Recorder) -> None:
        pending = {pool.submit(self._run_case, case) for case in cases}
        try:
            for future in as_completed(set(pending)):
                pending.discard(future)
                record(future.result())
        except KeyboardInterrupt:
            # Include the answers that arrived before the interrupt.
            for future in pending:
                if future.done() and not future.cancelled() and future.exception() is None:
                    record(future.result())
            raise

    def _run_first_of_each_role(
        self, pool: ThreadPoolExecutor, pending: _CasesByRole, record: _Recorder
    ) -> _CasesByRole:
        """Run one vector of each role: it decides whether the role is offered, independent of timing.

        Returns the pending vectors of the offered roles.
        """
        offered: set[str] = set()

        def record_first(outcome: VectorOutcome) -> None:
            if outcome.reply is None or not outcome.reply.is_not_offered:
                offered.add(outcome.case.role)
            record(outcome)

        self._run_cases(pool, [role_cases[0] for role_cases in pending.values()], record_first)
        for role in pending.keys() - offered:
            for case in pending[role][1:]:
                record(self._runner.skip(case))
        return {role: role_cases[1:] for role, role_cases in pending.items() if role in offered}

    def _probe(
        self,
        pool: ThreadPoolExecutor,
        pending: _CasesByRole,
        outcomes: Sequence[VectorOutcome],
        record: _Recorder,
    ) -> None:
        """Run the first few vectors of each role; remove them, and all vectors of abandoned roles, from `pending`."""
        limit = self._settings.abandon_after
        if limit is None:
            return
        probes = {}
        for role, role_cases in pending.items():
            count = limit - sum(outcome.case.role == role for outcome in outcomes)
            probes[role], pending[role] = role_cases[:count], role_cases[count:]
        self._run_cases(pool, _flatten(probes), lambda outcome: record(_with_late_refusal(outcome)))
        for role, role_cases in pending.items():
            probed = [outcome for outcome in outcomes if outcome.case.role == role]
            if role_cases and len(probed) >= limit and (problem := self._shared_problem(probed)):
                for case in role_cases:
                    record(replace(self._runner.skip(case), differences=(abandoned_difference(problem, limit),)))
                pending[role] = []

    def _shared_problem(self, probed: Sequence[VectorOutcome]) -> Difference | None:
        problems = [outcome.reply.problem if outcome.reply else None for outcome in probed]
        first = problems[0]
        if first is None or any(outcome.case.id in self._settings.expected_failures for outcome in probed):
            return None
        is_shared = all(
            problem and (problem.place, problem.actual) == (first.place, first.actual) for problem in problems
        )
        return first if is_shared else None

    def _run_case(self, case: Case) -> VectorOutcome:
        client = self._idle.get()
        try:
            if self._stop.is_set():
                raise Stopped
            return self._runner.run(case, client)
        finally:
            self._idle.put(client)


def _by_role(cases: Iterable[Case]) -> _CasesByRole:
    ordered = sorted(cases, key=lambda case: (case.role, case.id))
    return {role: list(role_cases) for role, role_cases in groupby(ordered, key=lambda case: case.role)}


def _flatten(cases_by_role: Mapping[str, Sequence[Case]]) -> list[Case]:
    return [case for role_cases in cases_by_role.values() for case in role_cases]


def _with_late_refusal(outcome: VectorOutcome) -> VectorOutcome:
    """If the program refuses a role that it offers, replace the first difference with one that says so."""
    if outcome.reply is None or not outcome.reply.is_not_offered:
        return outcome
    return replace(outcome, differences=(late_refusal_difference(outcome.reply), *outcome.differences[1:]))
