"""Run a verifier on mutants and count those that it catches."""

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TypeAlias

from forum_conformance.mutation.engine import CAUGHT, Mutant


@dataclass(frozen=True, slots=True)
class VerifierReply:
    """A verifier's reply about a run directory: a verdict, or a problem."""

    verdict: str | None
    problem: str | None = None
    stderr: str = ""
    """The end of its standard error, if it did not answer."""


Ask: TypeAlias = Callable[[Path, Path | None], VerifierReply]
"""Verify a run directory, alone or with a checkpoint."""


@dataclass(frozen=True, slots=True)
class Outcome:
    mutant: Mutant
    said: VerifierReply
    beside: VerifierReply | None
    """The reply given the checkpoint of the original; only for mutants out of reach."""

    @property
    def is_caught(self) -> bool:
        return self.mutant.in_reach and self.said.verdict in CAUGHT

    @property
    def is_found_beside(self) -> bool:
        return self.beside is not None and self.beside.verdict in CAUGHT

    @property
    def survived(self) -> bool:
        """A mutant out of reach may be valid alone, but not together with the checkpoint."""
        if self.mutant.in_reach:
            return not self.is_caught
        return self.said.verdict is None or (self.beside is not None and not self.is_found_beside)

    @property
    def objection(self) -> str:
        """Why it survived."""
        if self.mutant.in_reach or self.said.verdict is None or self.beside is None:
            return _describe(self.said)
        return f"with the original's checkpoint: {_describe(self.beside)}"

    @property
    def last_words(self) -> str:
        """The verifier's standard error, if it did not answer."""
        return self.said.stderr or (self.beside.stderr if self.beside else "")


def _describe(said: VerifierReply) -> str:
    return f"called {said.verdict}" if said.verdict else f"no verdict: {said.problem}"


def outcomes(
    made: Iterable[Mutant], ask: Ask, checkpoint: Path | None, work_dir: Path, *, jobs: int, stop: Event
) -> Iterator[Outcome]:
    """Outcomes in the order of the mutants. Each mutant is on disk only while it is verified.

    If this ends early, `stop` is set, so that pending requests are abandoned.
    """

    def outcome(mutant: Mutant) -> Outcome:
        run_dir = mutant.apply(work_dir / mutant.name)
        try:
            said = ask(run_dir, None)
            beside = ask(run_dir, checkpoint) if checkpoint and not mutant.in_reach else None
        finally:
            shutil.rmtree(run_dir)
        return Outcome(mutant, said, beside)

    if jobs == 1:
        yield from map(outcome, made)
        return
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[Future[Outcome]] = deque()
        try:
            for mutant in made:
                waiting.append(pool.submit(outcome, mutant))
                # Not all at once: each keeps the files of a run directory in memory.
                if len(waiting) >= 2 * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            stop.set()
            raise


@dataclass(slots=True)
class Tally:
    mutants: int = 0
    caught: int = 0
    survived: int = 0
    out_of_reach: int = 0
    shown_beside: int = 0
    """For mutants out of reach, with the checkpoint of the original."""
    found_beside: int = 0

    def count(self, outcome: Outcome) -> None:
        self.mutants += 1
        self.caught += outcome.is_caught
        self.survived += outcome.survived
        self.out_of_reach += not outcome.mutant.in_reach
        self.shown_beside += outcome.beside is not None
        self.found_beside += outcome.is_found_beside

    @property
    def in_reach(self) -> int:
        return self.mutants - self.out_of_reach
