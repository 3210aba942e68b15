"""Tells a run again from its record: the machine is given the recorded answers and times, and must write the same."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

import orjson

from forum_runner.execute.replay.comparison import Divergence, Telling
from forum_runner.execute.replay.event_candidates import EventCandidates, Part
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.ledger.run_reader import read_entries
from forum_runner.wave_plan.wave_plan_reader import read_wave_plan

# How many entries are gone through to find out what happened to a process: a few seconds' worth or, in a long run, as
# many as make a few tries.
_PATIENCE = 100_000
_TRIES = 8


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """How far the story was the same: all entries, or up to a divergence."""

    entries: int
    calls: int
    divergence: Divergence | None
    is_complete: bool


class Replayer:
    def __init__(self, directory: Path) -> None:
        self._stream = (directory / BODIES).open("rb")
        self._bodies = RecordedBodies(self._stream)
        self._entries = list(read_entries(directory))
        self._plan = read_wave_plan(orjson.loads(self._bodies.body(self._entries[0].bodies["wave_plan"]).data))

    def close(self) -> None:
        self._stream.close()

    def tell(self) -> ReplayResult:
        """What a process knew beside its record ended with it: each is told by itself."""
        entries, calls, divergence = 0, 0, None
        for part in self._parts():
            telling = _told(part)
            entries, calls, divergence = telling.at, calls + telling.calls, telling.divergence
            # After a seal only foreign entries and seals with the same facts follow: verification looks at those.
            if divergence is not None or telling.is_sealed:
                break
        return ReplayResult(entries, calls, divergence, divergence is None)

    def _parts(self) -> list[Part]:
        resumed = [place for place, entry in enumerate(self._entries) if entry.kind == "run.resumed"]
        places = zip([0, *resumed], [*resumed, len(self._entries)], strict=True)
        return [Part(self._plan, self._entries, self._bodies, start, end) for start, end in places]


def _told(part: Part) -> Telling:
    """The part told as it is recorded or, if no way leads there, the one that led furthest.

    The first way takes the likeliest guess everywhere. From one that leads astray others branch off, each with another
    guess at one of its choices, the last choice first. Those of the way that led furthest are tried first.
    """
    guesses = EventCandidates(part)
    untried: list[tuple[int, int, dict[int, int]]] = []
    numbers = count()
    patience = max(_PATIENCE, _TRIES * part.end)
    telling = furthest = Telling(part, guesses, {})
    while telling.tell() is not None:
        furthest = max(furthest, telling, key=lambda way: way.at)
        first = max(telling.otherwise, default=-1) + 1
        for choice in reversed(range(first, len(telling.choices))):
            for other in range(1, telling.choices[choice]):
                heappush(untried, (-telling.at, next(numbers), {**telling.otherwise, choice: other}))
        patience -= telling.at
        if not untried or patience <= 0:
            return furthest
        telling = Telling(part, guesses, heappop(untried)[2])
    return telling
