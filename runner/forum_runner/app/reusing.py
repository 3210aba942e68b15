"""What a new run may take from earlier ones, and what it leaves to later ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from forum_runner.app.preparing import Prepared
from forum_runner.app.running import ReuseSource
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Reusable
from forum_runner.execute.prompts import holds_secret, texts_of
from forum_runner.execute.restore import mode_of, workflow_of
from forum_runner.execute.reusing import Cache, Comparison, EarlierRun, ResultCache
from forum_runner.execute.unit import Unit
from forum_runner.ledger.source import RUNS, find_ledger


@dataclass(frozen=True, slots=True)
class ReuseDecision:
    """Whether the result of a unit was reused, and on what ground; otherwise it is run, `again` if it was before."""

    task: str
    is_reused: bool
    ground: str
    again: bool = True

    def __str__(self) -> str:
        fate = "reused" if self.is_reused else "run again" if self.again else "run"
        return f"{self.task}: {fate}, {self.ground}"


class Reuse:
    """For the time of one command: an earlier run, if there is one to go on from, and the cache.

    `base` names the earlier run, empty for the last one of the same workflow. `among` are the tasks whose results may
    be taken from there, None for all. `cache` takes the place of the one that all runs share, which runs with a script
    have no part in. `decisions` says for each unit that was looked at why it was reused or not; `redacted` are those
    whose result the cache had, until its output was redacted.
    """

    def __init__(
        self,
        prepared: Prepared,
        base: str | None,
        *,
        among: frozenset[str] | None = None,
        uses_cache: bool = True,
        cache: ResultCache | None = None,
    ) -> None:
        self._plan = prepared.plan
        self._cache: ResultCache | None = cache
        if cache is None and uses_cache and prepared.stand_in is None:
            self._cache = Cache()
        self._fingerprints: dict[str, str] = {}
        self._among = among
        self.decisions: list[ReuseDecision] = []
        self.redacted: set[str] = set()
        self._comparison: Comparison | None = None
        if base is not None:
            earlier = EarlierRun(find_ledger(base or _last_run(prepared)))
            self._comparison = Comparison(earlier, self._plan)
            try:
                self._check(prepared)
            except UsageError:
                earlier.close()
                raise

    @property
    def source(self) -> ReuseSource | None:
        """As the new run names the earlier one."""
        if self._comparison is None:
            return None
        earlier = self._comparison.earlier
        origin = None if earlier.head is None else {"run": earlier.run, "head": earlier.head}
        return ReuseSource(earlier.directory, origin, self._among)

    def _check(self, prepared: Prepared) -> None:
        """What is to be reused must be there: nothing is run that was not asked for."""
        if self._comparison is None:
            return
        earlier = self._comparison.earlier
        if (earlier.is_live and prepared.stand_in is not None) or (not earlier.is_live and prepared.stand_in is None):
            kinds = ("live", "scripted") if earlier.is_live else ("scripted", "live")
            reason = f"it is {kinds[0]}, and this one is {kinds[1]}: prepared and real results are not mixed"
            raise UsageError(f"nothing is reused from the run {earlier.run}: {reason}")
        for task in sorted(prepared.to_reuse):
            why = self._comparison.why_not(task)
            if why is not None:
                run = self._comparison.earlier.run
                raise UsageError(f"the result of '{task}' in the run {run} cannot be reused: {why}")

    def find(self, unit: Unit, fingerprint: str) -> Reusable | None:
        found = self.find_in_base(unit, fingerprint)
        if found is not None or "cache" not in unit.task.form or _uses_secret(unit):
            return found
        self._fingerprints[unit.name] = fingerprint
        return self._find_in_cache(unit, fingerprint, self._cache) if self._cache is not None else None

    def _find_in_cache(self, unit: Unit, fingerprint: str, cache: ResultCache) -> Reusable | None:
        found = cache.find(fingerprint)
        if found is None and cache.has_redacted(fingerprint):
            self.redacted.add(unit.name)
            self._decide(unit, "its output in the cache was redacted")
        return found

    def find_in_base(self, unit: Unit, fingerprint: str) -> Reusable | None:
        if self._comparison is None:
            return None
        if self._among is not None and unit.task.id not in self._among:
            self._decide(unit, "as it was asked for", again=False)
            return None
        if _uses_secret(unit):
            self._decide(unit, "as it uses a secret input, which may be another")
            return None
        found = self._comparison.earlier.find(unit, fingerprint)
        if found is not None:
            self._decide(unit, "its fingerprint is the same", is_reused=True)
        else:
            self._decide(unit, self._comparison.why(unit, fingerprint))
        return found

    def _decide(self, unit: Unit, ground: str, *, is_reused: bool = False, again: bool = True) -> None:
        self.decisions.append(ReuseDecision(unit.name, is_reused, ground, again))

    def keep(self, directory: Path) -> None:
        """Lets later runs find the results of tasks that may be cached."""
        if self._cache is None or not self._fingerprints:
            return
        with suppress(OSError):
            earlier = EarlierRun(find_ledger(str(directory)))
            for name, fingerprint in self._fingerprints.items():
                result = earlier.results.get(name)
                if result is not None and result.state == "passed" and result.fingerprint == fingerprint:
                    self._cache.keep(fingerprint, earlier.run, name, directory)
            earlier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._comparison is not None:
            self._comparison.earlier.close()
        if self._cache is not None:
            self._cache.close()


def _uses_secret(unit: Unit) -> bool:
    """A secret is in no fingerprint: it could be told from it."""
    commands = [argument for check in unit.task.accept for argument in check.get("command", ())]
    return holds_secret([*texts_of(unit.task.form), *commands])


def _last_run(prepared: Prepared) -> str:
    """The latest run of a workflow of this name, live or scripted as the new one is: ids sort by time."""
    workflow, is_live = prepared.wave_plan["metadata"]["name"], prepared.stand_in is None

    runs = sorted((path for path in RUNS.glob("*") if path.is_dir()), reverse=True)
    for directory in runs:
        if workflow_of(directory) == workflow and (mode_of(directory) == "live") == is_live:
            return str(directory)
    raise UsageError(f"there is no earlier run of '{workflow}' in '{RUNS}'; name one with --base RUN")
