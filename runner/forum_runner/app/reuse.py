"""Reuses results of earlier runs, and stores the results of a run for later runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
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
    """Whether the result of a unit was reused, and why. If not, the unit runs."""

    task: str
    is_reused: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.task}: {'reused' if self.is_reused else 'run'} ({self.reason})"


class Reuse:
    """Decides which results of an earlier run and of the cache are used instead of running an attempt.

    `base` is the earlier run. Only the results of `eligible_tasks` may come from there; None means all tasks.
    `decisions` records for each unit why its result was reused or not. `redacted` has the units whose cached output was
    redacted. `reset_tasks_run` must be called before each run but the first.

    The machine calls `find` before the first attempt of a unit, when all dependencies of the unit have ended.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        base: LedgerSource | None,
        cache: ResultCache | None,
        eligible_tasks: frozenset[str] | None = None,
    ) -> None:
        self._plan = prepared.plan
        self._cache = cache
        self._fingerprints: dict[str, str] = {}
        self._eligible_tasks = eligible_tasks
        self._resumed = prepared.resumes
        # Only the last decision for each unit: the machine calls `find` again for a unit that waited for a budget.
        self._decisions: dict[str, ReuseDecision] = {}
        self.redacted: set[str] = set()
        self._comparison: ReuseComparison | None = None
        if base is not None:
            earlier = EarlierRun(base)
            self._comparison = ReuseComparison(earlier, self._plan)
            try:
                self._check_base(prepared, self._comparison)
            except UsageError:
                earlier.close()
                raise

    @property
    def decisions(self) -> Sequence[ReuseDecision]:
        return list(self._decisions.values())

    @property
    def origin(self) -> Mapping[str, str] | None:
        """The id and the head of the earlier run, for the first entry of the new one; None without an earlier run."""
        earlier = None if self._comparison is None else self._comparison.earlier
        return None if earlier is None or earlier.head is None else {"run": earlier.run, "head": earlier.head}

    def with_base(self, invocation: Invocation) -> Invocation:
        """The invocation, with the earlier run as its base."""
        if self._comparison is None:
            return invocation
        base = self._comparison.earlier.directory.absolute()
        return structs.replace(invocation, base=base, eligible_tasks=self._eligible_tasks)

    def _check_base(self, prepared: PreparedRun, comparison: ReuseComparison) -> None:
        """Refuses a base of the other mode (live or scripted), or one without a result that this run needs.

        Tasks that were not selected do not run, so their results must exist.
        """
        earlier = comparison.earlier
        if earlier.is_live != (prepared.stand_in is None):
            its_mode, mode = ("live", "scripted") if earlier.is_live else ("scripted", "live")
            raise UsageError(f"cannot reuse results of run {earlier.run}: it is {its_mode}, and this run is {mode}")
        for task in sorted(prepared.to_reuse, key=lambda name: self._plan.tasks[name].order):
            reason = comparison.reason_against(task)
            if reason is not None:
                hint = f"use --from {shlex.quote(task)} to run it and everything downstream of it"
                if task not in earlier.plan.tasks:
                    hint = f"use --base RUN with a run that contains it, or {hint}"
                raise UsageError(f"cannot reuse the result of '{task}' from run {earlier.run}: {reason}; {hint}")

    def reset_tasks_run(self) -> None:
        """Prepares for the next run that starts from the same base."""
        self._tasks_run.clear()

    def find(self, unit: Unit, fingerprint: str) -> Reusable | None:
        """A result to use instead of running the unit, or None."""
        found = self._find_in_base(unit, fingerprint)
        if found is None and unit.task.uses_cache and not _uses_secret(unit):
            self._fingerprints[unit.name] = fingerprint
            found = self._find_in_cache(unit, fingerprint, self._cache) if self._cache is not None else None
        if found is None and self._comparison is not None:
            self._tasks_run.add(unit.task.id)
        return found

    def _find_in_cache(self, unit: Unit, fingerprint: str, cache: ResultCache) -> Reusable | None:
        """Finds a result by its fingerprint alone; None if there is no usable one."""
        found = cache.find(fingerprint)
        if found is None and cache.has_redacted(fingerprint):
            self.redacted.add(unit.name)
            self._record_decision(unit, "its output in the cache was redacted")
        if found is None or self._lacks_output(unit, found):
            return None
        if self._comparison is not None:
            self._record_decision(unit, "its fingerprint is in the cache", is_reused=True)
        return found

    def _find_in_base(self, unit: Unit, fingerprint: str) -> Reusable | None:
        if self._comparison is None:
            return None
        if self._eligible_tasks is not None and unit.task.id not in self._eligible_tasks:
            self._record_decision(unit, "selected with --only or --from")
            return None
        if _uses_secret(unit):
            self._record_decision(unit, "it uses a secret input, which may differ")
            return None
        found = self._comparison.earlier.find(unit, fingerprint)
        if found is None:
            self._record_decision(unit, self._comparison.reason_to_run(unit, fingerprint))
        elif self._lacks_output(unit, found):
            self._record_decision(unit, "its output lacks a value that the plan's `outputs` select")
        elif (predecessor := self._rerun_predecessor(unit)) is not None:
            self._record_decision(unit, f"it comes after '{predecessor}', which ran again")
        else:
            self._record_decision(unit, "its fingerprint is the same", is_reused=True)
            return found
        return None

    def _rerun_predecessor(self, unit: Unit) -> str | None:
        """The first task that ran in this run and that the unit depends on only for its order; None if there is none.

        Fingerprints cover only the data that tasks pass on. Such a task may affect the unit in other ways.
        """
        task, tasks = unit.task, self._plan.tasks
        predecessors = (task.depends_on - task.sources) & self._tasks_run
        return min(predecessors, key=lambda name: tasks[name].order, default=None)

    @cached_property
    def _tasks_run(self) -> set[str]:
        """The tasks that ran in this run, including those that an earlier process ran.

        They are read on first use, after the ledger has been verified.
        """
        if self._resumed is None:
            return set()
        started = [entry.task for entry in read_entries(self._resumed) if entry.kind == "task.started"]
        return {task_of_unit(name, self._plan.tasks) for name in started if name is not None}

    def _lacks_output(self, unit: Unit, found: Reusable) -> bool:
        """Whether the plan's outputs select a value that the result lacks."""
        return missing_for_outputs(self._plan, unit.task.id, Output(found.output)) is not None

    def _record_decision(self, unit: Unit, reason: str, *, is_reused: bool = False) -> None:
        self._decisions[unit.name] = ReuseDecision(unit.name, is_reused, reason)

    def store_results(self, directory: Path) -> None:
        """Stores the results of tasks that use the cache."""
        if self._cache is None or not self._fingerprints:
            return
        with suppress(OSError):
            earlier = EarlierRun(ledger_at(directory))
            for name, fingerprint in self._fingerprints.items():
                result = earlier.results.get(name)
                if result is not None and result.state == "passed" and result.fingerprint == fingerprint:
                    self._cache.store(fingerprint, earlier.run, name, directory)
            earlier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._comparison is not None:
            self._comparison.earlier.close()
        if self._cache is not None:
            self._cache.close()


def _uses_secret(unit: Unit) -> bool:
    """Whether the unit uses a secret input.

    Fingerprints leave secrets out, because a fingerprint could reveal a secret. So they cannot show that one changed.
    """
    commands = [text for check in unit.task.checks for text in check.command or ()]
    return holds_secret([*unit.task.texts(), *commands])
