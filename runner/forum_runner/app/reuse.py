"""Reuses results of earlier runs, and offers those of a run to later ones."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from forum_runner.app.invocation import Invocation
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Output, Reusable, Unit, holds_secret, missing_for_outputs
from forum_runner.execute.reuse import EarlierRun, ResultCache, ReuseComparison
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import LedgerSource, ledger_at
from forum_runner.wave_plan.unit_id import task_of_unit


@dataclass(frozen=True, slots=True)
class ReuseDecision:
    """Whether the result of a unit was reused, and why; if not, the unit runs, `again` if it ran before."""

    task: str
    is_reused: bool
    reason: str
    again: bool = True

    def __str__(self) -> str:
        fate = "reused" if self.is_reused else "run again" if self.again else "run"
        return f"{self.task}: {fate}, {self.reason}"


class Reuse:
    """Decides which results of an earlier run and of the cache replace attempts.

    `base` is the earlier run. `among` are the tasks whose results may come from there, None for all. `decisions` says
    for each unit why its result was reused or not; `redacted` are the units whose cached output was redacted.

    The machine asks before the first attempt of a unit, when everything that the unit depends on has ended.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        base: LedgerSource | None,
        cache: ResultCache | None,
        among: frozenset[str] | None = None,
    ) -> None:
        self._plan = prepared.plan
        self._cache = cache
        self._fingerprints: dict[str, str] = {}
        self._among = among
        self._resumed = prepared.resumes
        # The last decision for each unit: the machine asks again if a unit waits for a budget.
        self._decisions: dict[str, ReuseDecision] = {}
        self.redacted: set[str] = set()
        self._comparison: ReuseComparison | None = None
        if base is not None:
            earlier = EarlierRun(base)
            self._comparison = ReuseComparison(earlier, self._plan)
            try:
                self._check(prepared)
            except UsageError:
                earlier.close()
                raise

    @property
    def decisions(self) -> Sequence[ReuseDecision]:
        return list(self._decisions.values())

    @property
    def origin(self) -> Mapping[str, str] | None:
        """The id and the head of the earlier run, for the first entry of the new one."""
        earlier = None if self._comparison is None else self._comparison.earlier
        return None if earlier is None or earlier.head is None else {"run": earlier.run, "head": earlier.head}

    def added_to(self, invocation: Invocation) -> Invocation:
        if self._comparison is None:
            return invocation
        base = self._comparison.earlier.directory.absolute()
        return structs.replace(invocation, base=base, among=self._among)

    def _check(self, prepared: PreparedRun) -> None:
        """Every result to reuse must exist: tasks that were not selected do not run."""
        if self._comparison is None:
            return
        earlier = self._comparison.earlier
        if earlier.is_live != (prepared.stand_in is None):
            reason = "it is live and this one is scripted" if earlier.is_live else "it is scripted and this one is live"
            raise UsageError(f"cannot reuse results of run {earlier.run}: {reason}")
        for task in sorted(prepared.to_reuse, key=lambda name: self._plan.tasks[name].order):
            why = self._comparison.why_not(task)
            if why is not None:
                hint = f"use --from {shlex.quote(task)} to run it and everything after it"
                if task not in earlier.plan.tasks:
                    hint = f"name a run that has it with --base RUN, or {hint}"
                raise UsageError(f"cannot reuse the result of '{task}' in run {earlier.run}: {why}; {hint}")

    def forget_what_was_run(self) -> None:
        """Call this before another run starts from the same base."""
        self._was_run.clear()

    def find(self, unit: Unit, fingerprint: str) -> Reusable | None:
        found = self._find_in_base(unit, fingerprint)
        if found is None and unit.task.uses_cache and not _uses_secret(unit):
            self._fingerprints[unit.name] = fingerprint
            found = self._find_in_cache(unit, fingerprint, self._cache) if self._cache is not None else None
        if found is None and self._comparison is not None:
            self._was_run.add(unit.task.id)
        return found

    def _find_in_cache(self, unit: Unit, fingerprint: str, cache: ResultCache) -> Reusable | None:
        """Finds a result by its fingerprint alone."""
        found = cache.find(fingerprint)
        if found is None and cache.has_redacted(fingerprint):
            self.redacted.add(unit.name)
            self._decide(unit, "its output in the cache was redacted")
        if found is None or self._lacks_output(unit, found):
            return None
        if self._comparison is not None:
            self._decide(unit, "its fingerprint is in the cache", is_reused=True)
        return found

    def _find_in_base(self, unit: Unit, fingerprint: str) -> Reusable | None:
        if self._comparison is None:
            return None
        if self._among is not None and unit.task.id not in self._among:
            self._decide(unit, "as requested", again=False)
            return None
        if _uses_secret(unit):
            self._decide(unit, "because it uses a secret input, which may differ")
            return None
        found = self._comparison.earlier.find(unit, fingerprint)
        if found is None:
            self._decide(unit, self._comparison.why(unit, fingerprint))
        elif self._lacks_output(unit, found):
            self._decide(unit, "because its output lacks what the plan's outputs select")
        elif (before := self._run_before(unit)) is not None:
            self._decide(unit, f"it comes after '{before}', which ran again")
        else:
            self._decide(unit, "its fingerprint is the same", is_reused=True)
            return found
        return None

    def _run_before(self, unit: Unit) -> str | None:
        """The first task that ran in this run and that the unit depends on by order.

        Fingerprints contain the digests of data, but no other effect of a task.
        """
        task, tasks = unit.task, self._plan.tasks
        found = (task.depends_on - task.sources) & self._was_run
        return min(found, key=lambda name: tasks[name].order, default=None)

    @cached_property
    def _was_run(self) -> set[str]:
        """The tasks that ran in this run, including those that an earlier process ran.

        They are read on first use, after the ledger has been verified.
        """
        if self._resumed is None:
            return set()
        started = [entry.task for entry in read_entries(self._resumed) if entry.kind == "task.started"]
        return {task_of_unit(name, self._plan.tasks) for name in started if name is not None}

    def _lacks_output(self, unit: Unit, found: Reusable) -> bool:
        """Whether the plan's outputs select something that the result lacks."""
        return missing_for_outputs(self._plan, unit.task.id, Output(found.output)) is not None

    def _decide(self, unit: Unit, reason: str, *, is_reused: bool = False, again: bool = True) -> None:
        self._decisions[unit.name] = ReuseDecision(unit.name, is_reused, reason, again)

    def keep(self, directory: Path) -> None:
        """Stores the results of tasks that may be cached."""
        if self._cache is None or not self._fingerprints:
            return
        with suppress(OSError):
            earlier = EarlierRun(ledger_at(directory))
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
    """Fingerprints do not contain secrets, because they could reveal them."""
    commands = [text for check in unit.task.checks for text in check.command or ()]
    return holds_secret([*unit.task.texts(), *commands])
