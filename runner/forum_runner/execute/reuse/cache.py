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

    def find(self, fingerprint: str) -> Reusable | None: ...

    def has_redacted(self, fingerprint: str) -> bool:
        """Whether there was a result, and its output was redacted."""
        ...

    def keep(self, fingerprint: str, run: str, task: str, directory: Path) -> None: ...

    def close(self) -> None: ...


class RunCache:
    """One earlier run as a read-only cache, for scripted runs. If several results match, it uses the earliest."""

    def __init__(self, directory: Path) -> None:
        self._earlier = EarlierRun(LedgerSource(str(directory), directory / LEDGER, directory))
        self._known: dict[str, Reusable] = {}
        self._redacted: set[str] = set()
        if not self._earlier.is_live:
            self._take(self._earlier)

    def _take(self, earlier: EarlierRun) -> None:
        tasks = earlier.plan.tasks
        results = [(found.seq, unit, found) for unit, found in earlier.results.items() if found.seq is not None]
        for seq, unit, found in sorted(results, key=lambda item: item[:2]):
            is_kept = tasks[task_of_unit(unit, tasks)].uses_cache and found.state == "passed"
            if not is_kept or found.output is None or found.output.is_sensitive:
                continue
            if found.is_redacted:
                self._redacted.add(found.fingerprint)
            else:
                self._known.setdefault(found.fingerprint, Reusable("cache", earlier.run, seq, found.output))

    def find(self, fingerprint: str) -> Reusable | None:
        return self._known.get(fingerprint)

    def has_redacted(self, fingerprint: str) -> bool:
        return fingerprint in self._redacted

    def keep(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        """Does nothing: an earlier run does not change."""

    def close(self) -> None:
        self._earlier.close()


class DirectoryCache:
    """One small file per fingerprint names the run with the result. A deleted run has no results.

    Runs beside the cache have relative paths, so the folder that contains both can be moved.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runs: dict[Path, EarlierRun | None] = {}

    def find(self, fingerprint: str) -> Reusable | None:
        found = self._found(fingerprint)
        return None if found is None or found[1] else found[0]

    def has_redacted(self, fingerprint: str) -> bool:
        found = self._found(fingerprint)
        return found is not None and found[1]

    def _found(self, fingerprint: str) -> tuple[Reusable, bool] | None:
        """The result, and whether its output was redacted."""
        try:
            found = orjson.loads(self._path(fingerprint).read_bytes())
            run, task, place = str(found["run"]), str(found["task"]), self._directory.resolve() / found["directory"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        earlier = self._open(Path(os.path.normpath(place)))
        result = earlier.results.get(task) if earlier is not None and earlier.run == run else None
        if result is None or result.state != "passed" or result.fingerprint != fingerprint:
            return None
        if result.seq is None or result.output is None or result.output.is_sensitive:
            return None
        return Reusable("cache", run, result.seq, result.output), result.is_redacted

    def _open(self, directory: Path) -> EarlierRun | None:
        """None for a run that is invalid, or that another process is still writing."""
        if directory not in self._runs:
            self._runs[directory] = None
            with suppress(UsageError, DamagedLedgerError, OSError):
                self._runs[directory] = EarlierRun(LedgerSource(str(directory), directory / LEDGER, directory))
        return self._runs[directory]

    def keep(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        place, cache = directory.resolve(), self._directory.resolve()
        is_near = place.is_relative_to(cache.parent.parent)
        document = {"run": run, "task": task, "directory": os.path.relpath(place, cache) if is_near else str(place)}
        path = self._path(fingerprint)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, orjson.dumps(document))

    def _path(self, fingerprint: str) -> Path:
        return self._directory / fingerprint[:2] / fingerprint[2:]

    def close(self) -> None:
        for earlier in self._runs.values():
            if earlier is not None:
                earlier.close()
