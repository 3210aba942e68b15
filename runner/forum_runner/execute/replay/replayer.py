"""Replays a run from its ledger: with the recorded replies and times, the machine must write the same entries."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

from forum_runner.execute.replay.comparison import ReplayAttempt, ReplayDivergence
from forum_runner.execute.replay.event_candidates import EventCandidates, Session
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.ledger.run_reader import read_entries
from forum_runner.wave_plan.wave_plan_reader import decode_wave_plan

# How many entries may be replayed to find the events of one session. This takes a few seconds; in a long run, it is
# enough for a few tries.
_MAX_REPLAYED_ENTRIES = 100_000
_MIN_TRIES = 8


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """How many entries agree (all of them, or those before a divergence), and how many replies led to them."""

    entries: int
    calls: int
    divergence: ReplayDivergence | None
    is_complete: bool


class Replayer:
    def __init__(self, directory: Path) -> None:
        self._stream = (directory / BODIES).open("rb")
        self._bodies = RecordedBodies(self._stream)
        self._entries = list(read_entries(directory))
        self._plan = decode_wave_plan(self._bodies.body(self._entries[0].bodies["wave_plan"]).data)

    def close(self) -> None:
        self._stream.close()

    def replay(self) -> ReplayResult:
        """Replays each session separately, because a process leaves only its ledger to the next one."""
        entries, calls, divergence = 0, 0, None
        for session in self._sessions():
            best = _best_attempt(session)
            entries, calls, divergence = best.position, calls + best.calls, best.divergence
            # After a seal, only foreign entries and seals with the same facts follow, which verification checks.
            if divergence is not None or best.is_sealed:
                break
        return ReplayResult(entries, calls, divergence, divergence is None)

    def _sessions(self) -> list[Session]:
        resumed = [position for position, entry in enumerate(self._entries) if entry.kind == "run.resumed"]
        bounds = zip([0, *resumed], [*resumed, len(self._entries)], strict=True)
        return [Session(self._plan, self._entries, self._bodies, start, end) for start, end in bounds]


def _best_attempt(session: Session) -> ReplayAttempt:
    """The attempt that reaches the end of the session or, if none does, the one that gets furthest.

    The first attempt always takes the likeliest candidate. An attempt that diverges adds variants, each with a
    different candidate at one of its choices, the last choice first. Variants of the furthest attempt are tried first.
    """
    candidates = EventCandidates(session)
    untried: list[tuple[int, int, dict[int, int]]] = []
    numbers = count()
    entries_left = max(_MAX_REPLAYED_ENTRIES, _MIN_TRIES * session.end)
    attempt = furthest = ReplayAttempt(session, candidates, {})
    while attempt.run() is not None:
        furthest = max(furthest, attempt, key=lambda tried: tried.position)
        first = max(attempt.alternatives, default=-1) + 1
        for choice in reversed(range(first, len(attempt.candidate_counts))):
            for candidate in range(1, attempt.candidate_counts[choice]):
                heappush(untried, (-attempt.position, next(numbers), {**attempt.alternatives, choice: candidate}))
        entries_left -= attempt.position
        if not untried or entries_left <= 0:
            return furthest
        attempt = ReplayAttempt(session, candidates, heappop(untried)[2])
    return attempt
