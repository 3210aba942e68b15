"""From a request to a run that is under way."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from forum_runner.app.forecast import forecast
from forum_runner.app.invalid_workflow import InvalidWorkflowError
from forum_runner.app.invocation import Invocation
from forum_runner.app.observer import Observer
from forum_runner.app.requests import Inputs, ResumeRequest, RetryRequest, RunRequest
from forum_runner.app.resume import FoundRun, StoppedRun, changed_files, find_run, find_stopped
from forum_runner.app.resume_inputs import check_secrets, secrets_given_again
from forum_runner.app.reuse import Reuse
from forum_runner.app.run_handle import RunHandle, finished_handle
from forum_runner.app.run_preparation import PreparedRun, prepare, with_secrets
from forum_runner.app.runs import RunServices, resume_run, start_run
from forum_runner.app.workflows import Compiled, compile_file
from forum_runner.errors import UsageError
from forum_runner.execute.reuse import DirectoryCache, ResultCache, RunCache
from forum_runner.ledger.run_reader import mode_of, workflow_of
from forum_runner.ledger.source import LedgerSource, find_ledger, ledger_at
from forum_runner.report.forecast_text import Forecast
from forum_runner.workspace import Workspace


def start(workspace: Workspace, request: RunRequest | ResumeRequest | RetryRequest, services: RunServices) -> RunHandle:
    """Starts what is requested, in the running event loop."""
    if isinstance(request, RunRequest):
        return _start_new(workspace, request.in_workspace(workspace), services)
    found = find_run(find_ledger(request.run, workspace))
    if isinstance(request, RetryRequest):
        return _retry(workspace, request, found, services)
    if found.finished is not None:
        return finished_handle(found.finished)
    return _resume(workspace, request, found, services)


async def repeat(
    workspace: Workspace, request: RunRequest, times: int, services: RunServices
) -> AsyncIterator[RunHandle]:
    """Starts the same run again when the one before has finished. Stops after a run that paused."""
    request = request.in_workspace(workspace)
    with ExitStack() as held:
        prepared = _prepare(workspace, request, services.observer)
        # Repetitions measure how often a task passes: a cached result would pass every time.
        reuse = held.enter_context(_reuse(workspace, request, prepared, uses_cache=False))
        for _ in range(times):
            reuse.forget_what_was_run()
            handle = start_run(
                prepared, replace(services, reuse=reuse), workspace, is_deterministic=request.is_deterministic
            )
            yield handle
            if (await handle.wait()).status == "paused":
                return


def foresee(workspace: Workspace, request: RunRequest, observer: Observer) -> Forecast:
    """What a run would do, and what it could cost at most."""
    request = request.in_workspace(workspace)
    prepared = _prepare(workspace, request, observer, is_complete=False)
    with _reuse(workspace, request, prepared) as reuse:
        return forecast(prepared, reuse)


def _start_new(workspace: Workspace, request: RunRequest, services: RunServices) -> RunHandle:
    prepared = _prepare(workspace, request, services.observer)
    with ExitStack() as held:
        reuse = held.enter_context(_reuse(workspace, request, prepared))
        handle = start_run(
            prepared,
            replace(services, reuse=reuse),
            workspace,
            is_deterministic=request.is_deterministic,
            out=request.out,
        )
        handle.hold(held.pop_all())
        return handle


def _compile(request: RunRequest) -> Compiled:
    compiled = compile_file(request.workflow, request.root, request.inputs, script=request.script)
    if compiled.wave_plan is None:
        raise InvalidWorkflowError(compiled.report)
    return compiled


def _prepare(workspace: Workspace, request: RunRequest, observer: Observer, *, is_complete: bool = True) -> PreparedRun:
    compiled = _compile(request)
    if compiled.report.findings:
        observer.warned(compiled.report)
    return prepare(compiled, request, workspace, is_complete=is_complete)


def _reuse(workspace: Workspace, request: RunRequest, prepared: PreparedRun, *, uses_cache: bool = True) -> Reuse:
    base = None if request.base is None else find_ledger(request.base, workspace)
    if base is None and prepared.to_reuse:
        base = _last_run(prepared, workspace.runs)
    cache = _cache(workspace, prepared, request.cached) if uses_cache else None
    return Reuse(prepared, base, cache, prepared.to_reuse if request.tasks.needs_base else None)


def _cache(workspace: Workspace, prepared: PreparedRun, cached: Path | None) -> ResultCache | None:
    """Scripted runs have no part in the cache of the workspace."""
    if cached is not None:
        return RunCache(cached)
    return DirectoryCache(workspace.cache) if prepared.stand_in is None else None


def _last_run(prepared: PreparedRun, runs: Path) -> LedgerSource:
    """The latest run of a workflow of this name, live or scripted as the new one is: ids sort by time."""
    workflow, is_live = prepared.wave_plan["metadata"]["name"], prepared.stand_in is None
    for directory in sorted((path for path in runs.glob("*") if path.is_dir()), reverse=True):
        if workflow_of(directory) == workflow and (mode_of(directory) == "live") == is_live:
            return ledger_at(directory)
    raise UsageError(f"there is no earlier run of '{workflow}' in '{runs}'; name one with --base RUN")


def _resume(workspace: Workspace, request: ResumeRequest, found: FoundRun, services: RunServices) -> RunHandle:
    stopped, secrets, cached = _find_stopped(workspace, request, found)
    check_secrets(stopped.prepared.wave_plan, secrets)
    prepared = with_secrets(stopped.prepared, secrets)
    if request.engine is not None:
        prepared = replace(prepared, given=replace(prepared.given, engine=request.engine))
    _notice_changes(stopped, services.observer)
    base = None if stopped.base is None or not stopped.base.is_dir() else ledger_at(stopped.base)
    with ExitStack() as held:
        reuse = held.enter_context(Reuse(prepared, base, _cache(workspace, prepared, cached), stopped.among))
        handle = resume_run(stopped.directory, prepared, replace(services, reuse=reuse), found.beginning)
        handle.hold(held.pop_all())
        return handle


def _find_stopped(
    workspace: Workspace, request: ResumeRequest, found: FoundRun
) -> tuple[StoppedRun, Mapping[str, Any], Path | None]:
    """The run, its secret inputs, and the run that serves as its cache."""
    root = None if request.root is None else workspace.path(request.root)
    if request.started_with is None:
        stopped = find_stopped(found, root)
        inputs = request.inputs.in_workspace(workspace)
        return stopped, secrets_given_again(stopped.prepared.wave_plan, inputs), None
    original = request.started_with.in_workspace(workspace)
    compiled = _compile(original)
    prepared = prepare(compiled, original, workspace)
    base = None if original.base is None else find_ledger(original.base, workspace).directory
    among = prepared.to_reuse if original.tasks.needs_base else None
    known = Invocation(prepared.root, prepared.workflow, prepared.answers, base=base, among=among)
    stopped = find_stopped(found, root, known)
    if (stopped.mode == "deterministic") != original.is_deterministic:
        raise UsageError(f"the run is {stopped.mode}")
    return stopped, compiled.secrets, original.cached


def _notice_changes(stopped: StoppedRun, observer: Observer) -> None:
    changed = changed_files(stopped)
    if changed:
        named = f"'{changed[0]}'" + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
        observer.notice(f"changed since the run started: {named}; the run keeps its plan, --failed uses the changes")
    if stopped.base is not None and not stopped.base.is_dir():
        observer.notice(f"the run '{stopped.base}' does not exist; no more results are reused from it")


def _retry(workspace: Workspace, request: RetryRequest, found: FoundRun, services: RunServices) -> RunHandle:
    stopped = find_stopped(found, None if request.root is None else workspace.path(request.root))
    again = _request_again(workspace, request, stopped)
    prepared = _prepare(workspace, again, services.observer)
    with ExitStack() as held:
        reuse = held.enter_context(Reuse(prepared, ledger_at(stopped.directory), cache=None))
        handle = start_run(
            prepared,
            replace(services, reuse=reuse),
            workspace,
            is_deterministic=again.is_deterministic,
            out=None if request.out is None else workspace.path(request.out),
        )
        handle.hold(held.pop_all())
        return handle


def _request_again(workspace: Workspace, request: RetryRequest, stopped: StoppedRun) -> RunRequest:
    """The request that started the run. Inputs that are given take precedence over those it had."""
    before, given = stopped.prepared, request.inputs.in_workspace(workspace)
    known = before.given.file if before.given.file is not None and before.given.file.is_file() else None
    return RunRequest(
        _displayed(before.root / before.workflow, workspace.root),
        before.root,
        Inputs({**before.given.texts, **given.texts}, given.file or known),
        before.given.selected,
        is_scripted=before.answers is not None,
        is_deterministic=stopped.mode == "deterministic",
        script=None if before.script is None else str(before.script),
        answers_from=None if before.recorded is None else str(before.recorded.directory),
        engine=request.engine or before.given.engine,
    )


def _displayed(path: Path, root: Path) -> str:
    """Relative to the workspace where that is shorter."""
    relative = os.path.relpath(path, root)
    return str(path) if relative.startswith("..") else str(root / relative)
