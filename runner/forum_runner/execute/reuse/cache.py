"""Caches that find a result by its fingerprint."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.machine import Reusable
from forum_runner.execute.reuse.earlier_run import EarlierRun
from forum_runner.ledger.layout import LEDGER
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import DamagedLedgerError
from forum_runner.wave_plan.unit_id import task_of_unit
from forum_runner.write_file import write_file


class ResultCache(Protocol):
    """Finds a result by its fingerprint."""

    def find(self, fingerprint: str) -> Reusable | None:
        """The result with this fingerprint; None if there is none, or its output was redacted."""
        ...

    def has_redacted(self, fingerprint: str) -> bool:
        """Whether there is a result whose output was redacted."""
        ...

    def store(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        """Stores where the result is: the run, its directory and the unit."""
        ...

    def close(self) -> None: ...


class RunCache:
    """An earlier run as a read-only cache, for scripted runs. The earliest match is used; a live run has no matches."""

    def __init__(self, directory: Path) -> None:
        self._earlier = EarlierRun(LedgerSource(str(directory), directory / LEDGER, directory))
        self._results: dict[str, Reusable] = {}
        self._redacted: set[str] = set()
        if not self._earlier.is_live:
            self._index_results(self._earlier)

    def _index_results(self, earlier: EarlierRun) -> None:
        tasks = earlier.plan.tasks
        for unit, result in sorted(earlier.results.items(), key=lambda item: (item[1].seq or 0, item[0])):
            reusable = earlier.reusable("cache", result)
            if reusable is None or reusable.output.is_sensitive or not tasks[task_of_unit(unit, tasks)].uses_cache:
                continue
            if result.is_redacted:
                self._redacted.add(result.fingerprint)
            else:
                self._results.setdefault(result.fingerprint, reusable)

    def find(self, fingerprint: str) -> Reusable | None:
        return self._results.get(fingerprint)

    def has_redacted(self, fingerprint: str) -> bool:
        return fingerprint in self._redacted

    def store(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        """Does nothing: an earlier run does not change."""

    def close(self) -> None:
        self._earlier.close()


class DirectoryCache:
    """A folder with one small file per fingerprint, which names the run with the result. A deleted run has no results.

    Runs beside the cache have relative paths, so the folder that contains both can be moved.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runs: dict[Path, EarlierRun | None] = {}

    def find(self, fingerprint: str) -> Reusable | None:
        found = self._look_up(fingerprint)
        return None if found is None or found[1] else found[0]

    def has_redacted(self, fingerprint: str) -> bool:
        found = self._look_up(fingerprint)
        return found is not None and found[1]

    def _look_up(self, fingerprint: str) -> tuple[Reusable, bool] | None:
        """The result with this fingerprint, and whether its output was redacted. None if nothing is found."""
        try:
            record = orjson.loads(self._record_path(fingerprint).read_bytes())
            run, task, path = str(record["run"]), str(record["task"]), self._directory.resolve() / record["directory"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        earlier = self._open(Path(os.path.normpath(path)))
        result = earlier.results.get(task) if earlier is not None and earlier.run == run else None
        if earlier is None or result is None or result.fingerprint != fingerprint:
            return None
        reusable = earlier.reusable("cache", result)
        return None if reusable is None or reusable.output.is_sensitive else (reusable, result.is_redacted)

    def _open(self, directory: Path) -> EarlierRun | None:
        """The run in a directory; None if it is missing or invalid, or its wave plan cannot be read."""
        if directory not in self._runs:
            self._runs[directory] = None
            with suppress(UsageError, DamagedLedgerError, OSError):
                self._runs[directory] = EarlierRun(LedgerSource(str(directory), directory / LEDGER, directory))
        return self._runs[directory]

    def store(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        path, cache = directory.resolve(), self._directory.resolve()
        is_near = path.is_relative_to(cache.parent.parent)
        document = {"run": run, "task": task, "directory": os.path.relpath(path, cache) if is_near else str(path)}
        record = self._record_path(fingerprint)
        record.parent.mkdir(parents=True, exist_ok=True)
        write_file(record, orjson.dumps(document))

    def _record_path(self, fingerprint: str) -> Path:
        return self._directory / fingerprint[:2] / fingerprint[2:]

    def close(self) -> None:
        for earlier in self._runs.values():
            if earlier is not None:
                earlier.close()
