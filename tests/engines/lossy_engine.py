"""An engine that loses some of the calls of another one, and reports some twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from forum_adapters.base import Attempt
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.engines.engine import Engine


class Fate(Enum):
    FINE = "it is answered"
    TWICE = "it is answered twice"
    NEVER_BEGUN = "it is lost before it begins"
    LOST = "its answer is lost"
    TWICE_LOST = "its answer is lost, and that is reported twice"


@dataclass(slots=True)
class Fates:
    """What becomes of each attempt: a function of the seed. `losses` is in percent."""

    seed: int
    losses: int = 30
    _counts: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)

    def of(self, attempt: Attempt) -> Fate:
        key = (attempt.task, attempt.number, attempt.check)
        self._counts[key] += 1
        draw = Random(f"{self.seed}/{key}/{self._counts[key]}")  # noqa: S311 - it is to be the same every time
        if draw.randrange(100) < self.losses:
            return draw.choice((Fate.NEVER_BEGUN, Fate.LOST, Fate.TWICE_LOST))
        return draw.choice((Fate.FINE, Fate.TWICE))


class LossyEngine:
    """`begun` are the calls that it was given, in order. `on_report` is called with the number of reports so far."""

    def __init__(self, engine: Engine, fates: Fates, on_report: Callable[[int], None] = lambda _count: None) -> None:
        self.begun: list[str] = []
        self._engine = engine
        self._fates = fates
        self._fate_of: dict[str, Fate] = {}
        self._on_report = on_report
        self._unbegun: list[Replied | Lost] = []
        self._reported = 0
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._engine.attach(wake)

    def begin(self, attempt: Attempt) -> None:
        self.begun.append(attempt.id)
        fate = self._fate_of[attempt.id] = self._fates.of(attempt)
        if fate is Fate.NEVER_BEGUN:
            self._unbegun.append(Lost(attempt.id))
            self._wake()
        else:
            self._engine.begin(attempt)

    def cancel(self, call: str) -> None:
        self._engine.cancel(call)

    def reports(self) -> list[Replied | Lost]:
        unbegun, self._unbegun = self._unbegun, []
        found: list[Replied | Lost] = []
        for report in [*unbegun, *self._engine.reports()]:
            fate = self._fate_of[report.call]
            reported = Lost(report.call) if fate in (Fate.LOST, Fate.TWICE_LOST) else report
            found += [reported] * (2 if fate in (Fate.TWICE, Fate.TWICE_LOST) else 1)
            self._reported += 1
            self._on_report(self._reported)
        return found

    async def close(self) -> None:
        await self._engine.close()
