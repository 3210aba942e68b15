"""Finds a run that stopped, and prepares it to be resumed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from forum_runner.app.invocation import INVOCATION, Invocation, read_invocation
from forum_runner.app.open_run import check_has_entry
from forum_runner.app.recorded_answers import recorded_run
from forum_runner.app.run_handle import EndedRun
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.canonical import digest
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Outcome
from forum_runner.execute.resume import RunStart, read_run_start
from forum_runner.ledger.layout import BODIES, CHECKPOINT
from forum_runner.ledger.run_reader import ends_with_seal
from forum_runner.ledger.source import LedgerSource, ledger_at
from forum_runner.ledger.verification.verifier import verify_run
from forum_runner.manifest.bundle_files import BUILT_IN


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run to resume or retry. `start` has its first entry and its plan, `status` the status in its seal, if any."""

    directory: Path
    start: RunStart
    status: str | None

    @property
    def mode(self) -> str:
        return self.start.entry.data.mode

    @property
    def finished(self) -> EndedRun | None:
        """How the run finished, if it has."""
        if self.status is None:
            return None
        return EndedRun(self.directory, self.start.entry.run, Outcome(self.status), already_finished=True)

    def read_invocation(self) -> Invocation:
        """How the run was started. Raises if the file contradicts the mode in the ledger."""
        invocation = read_invocation(self.directory)
        if invocation.is_live != (self.mode == "live"):
            fault = f"it {'lacks' if invocation.is_live else 'has'} answers, but the run is {self.mode}"
            raise UsageError(f"'{self.directory / INVOCATION}' was altered: {fault}")
        return invocation

    def prepare(self, invocation: Invocation, root: Path | None) -> PreparedRun:
        """Prepares the run to be resumed. `root` is the folder of its files, if they have moved."""
        invocation = relocate(invocation, root)
        answers_from = invocation.answers_from
        recorded = None if answers_from is None else recorded_run(ledger_at(answers_from))
        start = self.start
        return PreparedRun(start.plan, start.wave_plan, invocation, recorded, resumes=self.directory)


def find_run(source: LedgerSource) -> FoundRun:
    """Finds a run. Refuses an invalid ledger.

    A ledger with a seal or a checkpoint is verified here, and any other when it is opened, in the pass that restores
    its state.
    """
    directory, status = source.directory, None
    if directory is None or not (directory / BODIES).is_file() or _has_seal_or_checkpoint(directory):
        directory, report = verify_run(source, "resuming needs the run directory")
        status = report.status
    check_has_entry(directory)
    return FoundRun(directory, read_run_start(directory), status)


def _has_seal_or_checkpoint(directory: Path) -> bool:
    return os.path.lexists(directory / CHECKPOINT) or ends_with_seal(directory)


def relocate(invocation: Invocation, root: Path | None) -> Invocation:
    """The invocation with the root `root`, or with its own root if `root` is None. Raises if the folder is missing."""
    if root is None and not invocation.root.is_dir():
        raise UsageError(
            f"the folder of the run's files, '{invocation.root}', does not exist; pass its location with --root DIR"
        )
    if root is not None and not root.is_dir():
        raise UsageError(f"the folder '{root}' does not exist")
    return invocation if root is None else structs.replace(invocation, root=root.resolve())


def changed_files(prepared: PreparedRun) -> list[str]:
    """The files of the bundle that have changed since the run started. Resuming does not read them."""
    files = [file for file in prepared.plan.bundle if not file.path.startswith(BUILT_IN)]
    return [file.path for file in files if _digest_at(prepared.root / file.path) != file.digest]


def _digest_at(path: Path) -> str | None:
    try:
        return digest(path.read_bytes()) if path.is_file() else None
    except OSError:
        return None
