"""An engine that wraps another one, loses some of its calls, and reports some twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from forum_adapters.base import Attempt
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.engines import Engine


class Fate(Enum):
    ANSWERED = "answered"
    ANSWERED_TWICE = "answered twice"
    NOT_STARTED = "lost before it starts"
    LOST = "its answer is lost"
    LOST_TWICE = "its answer is lost, which is reported twice"


@dataclass(slots=True)
class Fates:
    """Decides the fate of each attempt, derived from the seed."""

    seed: int
    loss_percent: int = 30
    _counts: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)

    def decide(self, attempt: Attempt) -> Fate:
        key = (attempt.task, attempt.number, attempt.check)
        self._counts[key] += 1
        rng = Random(f"{self.seed}/{key}/{self._counts[key]}")  # noqa: S311 - must be reproducible
        if rng.randrange(100) < self.loss_percent:
            return rng.choice((Fate.NOT_STARTED, Fate.LOST, Fate.LOST_TWICE))
        return rng.choice((Fate.ANSWERED, Fate.ANSWERED_TWICE))


class LossyEngine:
    """`begun` lists the ids of the calls in order. `on_report` is called after each report with the number so far."""

    def __init__(self, engine: Engine, fates: Fates, on_report: Callable[[int], None] = lambda _count: None) -> None:
        self.begun: list[str] = []
        self._engine = engine
        self._fates = fates
        self._fate_of: dict[str, Fate] = {}
        self._on_report = on_report
        self._not_started: list[Replied | Lost] = []
        self._reported = 0
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._engine.attach(wake)

    def begin(self, attempt: Attempt) -> None:
        self.begun.append(attempt.id)
        fate = self._fate_of[attempt.id] = self._fates.decide(attempt)
        if fate is Fate.NOT_STARTED:
            self._not_started.append(Lost(attempt.id))
            self._wake()
        else:
            self._engine.begin(attempt)

    def cancel(self, call: str) -> None:
        self._engine.cancel(call)

    def reports(self) -> list[Replied | Lost]:
        not_started, self._not_started = self._not_started, []
        reports: list[Replied | Lost] = []
        for report in [*not_started, *self._engine.reports()]:
            fate = self._fate_of[report.call]
            reported = Lost(report.call) if fate in (Fate.LOST, Fate.LOST_TWICE) else report
            reports += [reported] * (2 if fate in (Fate.ANSWERED_TWICE, Fate.LOST_TWICE) else 1)
            self._reported += 1
            self._on_report(self._reported)
        return reports

    async def close(self) -> None:
        await self._engine.close()
