"""Goes on with a run that stopped, or begins a new one from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_runner.app.invocation import Invocation, read_invocation
from forum_runner.app.opening import check_is_begun
from forum_runner.app.preparing import Given, Prepared, Selected, with_secrets
from forum_runner.app.recorded_answers import recorded_run
from forum_runner.app.running import Finished, Means, go_on
from forum_runner.canonical import digest
from forum_runner.compile.inputs import misfit
from forum_runner.errors import UsageError
from forum_runner.execute.restore import Beginning, ends_with_a_seal, read_beginning
from forum_runner.execute.verified_run import verified_run
from forum_runner.ledger.layout import BODIES, CHECKPOINT
from forum_runner.ledger.source import LedgerSource, find_ledger
from forum_runner.manifest.files import BUILT_IN
from forum_runner.model import Schema


@dataclass(frozen=True, slots=True)
class Stopped:
    """A run that was found, and is to be gone on with. `status` is that of its seal, if it has one.

    `base` is where it reuses results from, those of the tasks `among`, or all.
    """

    directory: Path
    beginning: Beginning
    status: str | None
    prepared: Prepared
    base: Path | None
    among: frozenset[str] | None

    @property
    def mode(self) -> str:
        return str(self.beginning.entry["data"]["mode"])


def find_stopped(run: str, root: Path | None, known: Invocation | None = None) -> Stopped:
    """A ledger that does not hold is not gone on with. One that nothing but its own entries speaks for is verified
    when it is opened, in the same pass; what has a seal or a checkpoint is verified here.

    `known` is what the run was begun with, where that does not stand beside its record.
    """
    directory, status = _looked_at(find_ledger(run))
    check_is_begun(directory)
    beginning = read_beginning(directory)
    known = read_invocation(directory) if known is None else known
    recorded = None if known.answers_from is None else recorded_run(str(known.answers_from))
    place = _root(known.root, root)
    selected = Selected(**{name: tuple(tasks) for name, tasks in known.selected.items()})
    given = Given(known.inputs, known.inputs_file, selected)
    prepared = Prepared(
        beginning.plan.document,
        beginning.wave_plan,
        place,
        known.workflow,
        known.answers,
        known.script,
        recorded,
        given=given,
    )
    return Stopped(directory, beginning, status, prepared, known.base, known.among)


def _looked_at(source: LedgerSource) -> tuple[Path, str | None]:
    """The run directory, and the status of the run's seal."""
    directory = source.directory
    if directory is not None and (directory / BODIES).is_file() and not _is_vouched_for(directory):
        return directory, None
    directory, report = verified_run(source, "going on needs the run directory")
    return directory, report.status


def _is_vouched_for(directory: Path) -> bool:
    return (directory / CHECKPOINT).exists() or ends_with_a_seal(directory)


def _root(known: Path, given: Path | None) -> Path:
    if given is None and not known.is_dir():
        raise UsageError(f"the files of the run were in '{known}'; say with --root where they are")
    if given is not None and not given.is_dir():
        raise UsageError(f"there is no folder '{given}'")
    return known if given is None else given.resolve()


def resume(stopped: Stopped, texts: Mapping[str, str], means: Means) -> Finished:
    """In the same ledger. Of the inputs only secret ones are asked for: the others stand in the wave plan."""
    if stopped.status is not None:
        hint = "`forum resume --failed` begins a new one that reuses what passed"
        raise UsageError(f"the run is finished, with the status '{stopped.status}'; {hint}")
    prepared = with_secrets(stopped.prepared, _secrets(stopped.prepared.wave_plan, texts))
    return go_on(stopped.directory, prepared, means, stopped.beginning)


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


def _secrets(wave_plan: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    inputs = wave_plan["inputs"]
    for name in texts:
        if "secret" not in inputs.get(name, {}):
            hint = "a run goes on with the inputs that it began with; `--failed` begins a new one with others"
            raise UsageError(f"'{name}' is no secret input of the run; {hint}")
        schema = wave_plan["schemas"][inputs[name]["schema"]]
        if misfit(texts[name], Schema(inputs[name]["schema"], schema)):
            raise UsageError(f"input '{name}' does not fit its schema; it is secret")
    return dict(texts)
