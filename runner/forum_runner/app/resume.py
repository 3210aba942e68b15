"""Goes on with a run that stopped, or begins a new one from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from forum_runner.app.invocation import Invocation, read_invocation
from forum_runner.app.open_run import check_is_begun
from forum_runner.app.recorded_answers import recorded_run
from forum_runner.app.resume_inputs import check_secrets
from forum_runner.app.run_preparation import Prepared, RunArguments, Selected, with_secrets
from forum_runner.app.runs import Finished, RunServices, go_on
from forum_runner.canonical import digest
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Outcome
from forum_runner.execute.resume import RunStart, read_run_start
from forum_runner.ledger.layout import BODIES, CHECKPOINT
from forum_runner.ledger.run_reader import ends_with_seal
from forum_runner.ledger.source import LedgerSource, find_ledger
from forum_runner.ledger.verification.verified_run import verified_run
from forum_runner.manifest.bundle_files import BUILT_IN


@dataclass(frozen=True, slots=True)
class Found:
    """The run of a plan. `status` is that of its seal, if it has one."""

    directory: Path
    beginning: RunStart
    status: str | None

    @property
    def ended(self) -> Finished | None:
        """How it ended, if it has: then nothing is left to do, and nothing beside its record is needed."""
        if self.status is None:
            return None
        return Finished(self.directory, str(self.beginning.entry["run"]), Outcome(self.status))


@dataclass(frozen=True, slots=True)
class Stopped:
    """A run that is to be gone on with, or begun anew from; `base` is where it reuses results from, those of the tasks
    `among`, or all."""

    found: Found
    prepared: Prepared
    base: Path | None
    among: frozenset[str] | None

    @property
    def directory(self) -> Path:
        return self.found.directory

    @property
    def mode(self) -> str:
        return str(self.found.beginning.entry["data"]["mode"])


def find_run(run: str) -> Found:
    """A ledger that does not hold is not gone on with. One that nothing but its own entries speaks for is verified
    when it is opened, in the same pass; what has a seal or a checkpoint is verified here."""
    directory, status = _looked_at(find_ledger(run))
    check_is_begun(directory)
    return Found(directory, read_run_start(directory), status)


def find_stopped(run: str | Found, root: Path | None, known: Invocation | None = None) -> Stopped:
    """`known` is what the run was begun with, where that does not stand beside its record."""
    found = find_run(run) if isinstance(run, str) else run
    directory, beginning = found.directory, found.beginning
    known = read_invocation(directory) if known is None else known
    recorded = None if known.answers_from is None else recorded_run(str(known.answers_from))
    place = _root(known.root, root)
    selected = Selected(**{name: tuple(tasks) for name, tasks in known.selected.items()})
    given = RunArguments(known.inputs, known.inputs_file, selected)
    prepared = Prepared(
        orjson.loads(beginning.wave_plan),
        beginning.wave_plan,
        place,
        known.workflow,
        known.answers,
        known.script,
        recorded,
        given=given,
        gone_on_with=directory,
    )
    return Stopped(found, prepared, known.base, known.among)


def _looked_at(source: LedgerSource) -> tuple[Path, str | None]:
    """The run directory, and the status of the run's seal."""
    directory = source.directory
    if directory is not None and (directory / BODIES).is_file() and not _is_vouched_for(directory):
        return directory, None
    directory, report = verified_run(source, "going on needs the run directory")
    return directory, report.status


def _is_vouched_for(directory: Path) -> bool:
    return (directory / CHECKPOINT).exists() or ends_with_seal(directory)


def _root(known: Path, given: Path | None) -> Path:
    if given is None and not known.is_dir():
        raise UsageError(f"the files of the run were in '{known}'; say with --root where they are")
    if given is not None and not given.is_dir():
        raise UsageError(f"there is no folder '{given}'")
    return known if given is None else given.resolve()


def resume(stopped: Stopped, secrets: Mapping[str, Any], means: RunServices) -> Finished:
    """In the same ledger. Of the inputs only secret ones are asked for: the others stand in the wave plan."""
    if stopped.found.status is not None:
        raise UsageError(f"the run has ended, with the status '{stopped.found.status}': nothing is left to do")
    check_secrets(stopped.prepared.wave_plan, secrets)
    return go_on(stopped.directory, with_secrets(stopped.prepared, secrets), means, stopped.found.beginning)


def changed_files(stopped: Stopped) -> list[str]:
    """The files of the bundle that are not as they were when the run began: it goes on without looking at them."""
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
