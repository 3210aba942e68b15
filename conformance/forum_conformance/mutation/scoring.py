"""Run a verifier on mutants and count those that it catches."""

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TypeAlias

from forum_conformance.mutation.engine import CAUGHT_VERDICTS, Mutant


@dataclass(frozen=True, slots=True)
class VerifierReply:
    """A verifier's reply about a run directory: a verdict, or a problem."""

    verdict: str | None
    problem: str | None = None
    stderr: str = ""
    """The end of the verifier's standard error, if there is no verdict."""


Verify: TypeAlias = Callable[[Path, Path | None], VerifierReply]
"""A function that verifies a run directory, alone or with a checkpoint."""


@dataclass(frozen=True, slots=True)
class Outcome:
    mutant: Mutant
    reply: VerifierReply
    reply_with_checkpoint: VerifierReply | None
    """The reply if the verifier also gets the checkpoint of the original; only for undetectable mutants."""

    @property
    def is_caught(self) -> bool:
        return self.mutant.is_detectable and self.reply.verdict in CAUGHT_VERDICTS

    @property
    def is_caught_with_checkpoint(self) -> bool:
        return self.reply_with_checkpoint is not None and self.reply_with_checkpoint.verdict in CAUGHT_VERDICTS

    @property
    def survived(self) -> bool:
        """Whether the verifier failed. An undetectable mutant may be called valid, but not with the checkpoint."""
        if self.mutant.is_detectable:
            return not self.is_caught
        return self.reply.verdict is None or (
            self.reply_with_checkpoint is not None and not self.is_caught_with_checkpoint
        )

    @property
    def objection(self) -> str:
        """Why the mutant survived."""
        if self.mutant.is_detectable or self.reply.verdict is None or self.reply_with_checkpoint is None:
            return _describe(self.reply)
        if self.reply_with_checkpoint.verdict is None:
            return f"with the original's checkpoint, {_describe(self.reply_with_checkpoint)}"
        return f"{_describe(self.reply_with_checkpoint)}, even with the original's checkpoint"

    @property
    def stderr(self) -> str:
        """The verifier's standard error, if there is no verdict."""
        return self.reply.stderr or (self.reply_with_checkpoint.stderr if self.reply_with_checkpoint else "")


def _describe(reply: VerifierReply) -> str:
    return f"called {reply.verdict}" if reply.verdict else f"no verdict: {reply.problem}"


def outcomes(
    mutants: Iterable[Mutant], verify: Verify, checkpoint: Path | None, work_dir: Path, *, jobs: int, stop: Event
) -> Iterator[Outcome]:
    """Outcomes in the order of the mutants. Each mutant is on disk only while it is verified.

    If this ends early, `stop` is set, so that pending requests are abandoned.
    """

    def try_mutant(mutant: Mutant) -> Outcome:
        run_dir = mutant.apply(work_dir / mutant.name)
        try:
            reply = verify(run_dir, None)
            with_checkpoint = verify(run_dir, checkpoint) if checkpoint and not mutant.is_detectable else None
        finally:
            shutil.rmtree(run_dir)
        return Outcome(mutant, reply, with_checkpoint)

    if jobs == 1:
        yield from map(try_mutant, mutants)
        return
    with ThreadPoolExecutor(jobs) as pool:
        pending: deque[Future[Outcome]] = deque()
        try:
            for mutant in mutants:
                pending.append(pool.submit(try_mutant, mutant))
                # Limit the pending mutants: each keeps the files of a run directory in memory.
                if len(pending) >= 2 * jobs:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BaseException:
            stop.set()
            raise


@dataclass(slots=True)
class MutantCounts:
    """Counts of mutants by their outcome."""

    mutants: int = 0
    caught: int = 0
    survived: int = 0
    undetectable: int = 0
    tested_with_checkpoint: int = 0
    """Undetectable mutants that the verifier also got together with the checkpoint of the original."""
    caught_with_checkpoint: int = 0
    """Undetectable mutants that it caught with this checkpoint."""

    def count(self, outcome: Outcome) -> None:
        self.mutants += 1
        self.caught += outcome.is_caught
        self.survived += outcome.survived
        self.undetectable += not outcome.mutant.is_detectable
        self.tested_with_checkpoint += outcome.reply_with_checkpoint is not None
        self.caught_with_checkpoint += outcome.is_caught_with_checkpoint

    @property
    def detectable(self) -> int:
        return self.mutants - self.undetectable
