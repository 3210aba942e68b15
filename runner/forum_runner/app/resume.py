"""Finds a run that stopped, and what is needed to resume it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from forum_runner.app.invocation import Invocation, read_invocation
from forum_runner.app.open_run import check_is_begun
from forum_runner.app.recorded_answers import recorded_run
from forum_runner.app.requests import TaskSelection
from forum_runner.app.run_handle import FinishedRun
from forum_runner.app.run_preparation import PreparedRun, RunArguments
from forum_runner.canonical import digest
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Outcome
from forum_runner.execute.resume import RunStart, read_run_start
from forum_runner.ledger.layout import BODIES, CHECKPOINT
from forum_runner.ledger.run_reader import ends_with_seal
from forum_runner.ledger.source import LedgerSource, ledger_at
from forum_runner.ledger.verification.verified_run import verified_run
from forum_runner.manifest.bundle_files import BUILT_IN


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run of a plan. `status` is that of its seal, if it has one."""

    directory: Path
    beginning: RunStart
    status: str | None

    @property
    def finished(self) -> FinishedRun | None:
        """How it finished, if it has: then only its ledger is needed."""
        if self.status is None:
            return None
        outcome = Outcome(self.status)
        return FinishedRun(self.directory, self.beginning.entry.run, outcome, was_finished=True)


@dataclass(frozen=True, slots=True)
class StoppedRun:
    """A run to resume or to retry; `base` is the run that it reuses results from, for the tasks `among`, or for all."""

    found: FoundRun
    prepared: PreparedRun
    base: Path | None
    among: frozenset[str] | None

    @property
    def directory(self) -> Path:
        return self.found.directory

    @property
    def mode(self) -> str:
        return self.found.beginning.entry.data.mode


def find_run(source: LedgerSource) -> FoundRun:
    """Refuses an invalid ledger. A ledger with a seal or a checkpoint is verified here; any other one when it is
    opened, in the pass that restores its state."""
    directory, status = _verified_if_needed(source)
    check_is_begun(directory)
    return FoundRun(directory, read_run_start(directory), status)


def find_stopped(found: FoundRun, root: Path | None, known: Invocation | None = None) -> StoppedRun:
    """`known` says how the run was started if its directory does not."""
    directory, beginning = found.directory, found.beginning
    known = read_invocation(directory) if known is None else known
    recorded = None if known.answers_from is None else recorded_run(ledger_at(known.answers_from))
    selected = TaskSelection(**{name: tuple(tasks) for name, tasks in known.selected.items()})
    prepared = PreparedRun(
        orjson.loads(beginning.wave_plan),
        beginning.wave_plan,
        _root(known.root, root),
        known.workflow,
        known.answers,
        known.script,
        recorded,
        given=RunArguments(known.inputs, known.inputs_file, selected, known.engine),
        resumes=directory,
    )
    return StoppedRun(found, prepared, known.base, known.among)


def _verified_if_needed(source: LedgerSource) -> tuple[Path, str | None]:
    """The run directory, and the status of the run's seal."""
    directory = source.directory
    if directory is not None and (directory / BODIES).is_file() and not _is_vouched_for(directory):
        return directory, None
    directory, report = verified_run(source, "resuming needs the run directory")
    return directory, report.status


def _is_vouched_for(directory: Path) -> bool:
    return (directory / CHECKPOINT).exists() or ends_with_seal(directory)


def _root(known: Path, given: Path | None) -> Path:
    if given is None and not known.is_dir():
        raise UsageError(f"the files of the run were in '{known}'; say with --root where they are")
    if given is not None and not given.is_dir():
        raise UsageError(f"there is no folder '{given}'")
    return known if given is None else given.resolve()


def changed_files(stopped: StoppedRun) -> list[str]:
    """The files of the bundle that have changed since the run started. Resuming does not read them."""
    prepared = stopped.prepared
    return [
        item["path"]
        for item in prepared.wave_plan["bundle"]
        if not item["path"].startswith(BUILT_IN) and _digest_at(prepared.root / item["path"]) != item["digest"]
    ]


def _digest_at(path: Path) -> str | None:
    try:
        return digest(path.read_bytes())
    except OSError:
        return None
