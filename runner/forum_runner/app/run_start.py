"""Starts, resumes, retries, repeats and forecasts runs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from forum_runner.app.forecast import forecast
from forum_runner.app.invocation import Invocation
from forum_runner.app.open_run import DETERMINISTIC
from forum_runner.app.requests import Inputs, ResumeRequest, RetryRequest, RunRequest, TaskSelection
from forum_runner.app.resume import FoundRun, changed_files, find_run, relocate
from forum_runner.app.resume_inputs import check_secrets, read_secrets
from forum_runner.app.reuse import Reuse
from forum_runner.app.run_handle import RunHandle, close_abandoned_run, ended_handle
from forum_runner.app.run_preparation import PreparedRun, prepare, with_secrets
from forum_runner.app.runs import RunServices, resume_run, start_run
from forum_runner.app.workflows import Compiled, compile_file
from forum_runner.errors import UsageError
from forum_runner.execute.reuse import DirectoryCache, ResultCache, RunCache
from forum_runner.ledger.run_reader import mode_of, workflow_of
from forum_runner.ledger.source import LedgerSource, find_ledger, ledger_at
from forum_runner.observer import Observer
from forum_runner.report.forecast_text import Forecast
from forum_runner.workspace import Workspace


def start(workspace: Workspace, request: RunRequest | ResumeRequest | RetryRequest, services: RunServices) -> RunHandle:
    """Starts, resumes or retries a run in the running event loop. Resuming a finished run does nothing."""
    if isinstance(request, RunRequest):
        return _start_new(workspace, request.in_workspace(workspace), services)
    found = find_run(find_ledger(request.run, workspace))
    close_abandoned_run(found.directory)
    if isinstance(request, RetryRequest):
        return _retry(workspace, request, found, services)
    if found.finished is not None:
        return ended_handle(found.finished)
    return _resume(workspace, request, found, services)


async def repeat(
    workspace: Workspace, request: RunRequest, times: int, services: RunServices
) -> AsyncIterator[RunHandle]:
    """Starts a run several times, each after the previous one has finished. Stops after a run that paused."""
    if request.out is not None:
        raise UsageError("`out` cannot be used with `repeat`: each run has its own directory")
    request = request.in_workspace(workspace)
    prepared = _prepare(workspace, request, services.observer)
    # Repetitions measure how often a task passes: a cached result would pass every time.
    with _reuse(workspace, request, prepared, uses_cache=False) as reuse:
        for _ in range(times):
            reuse.reset_tasks_run()
            handle = start_run(
                prepared, replace(services, reuse=reuse), workspace, is_deterministic=request.is_deterministic
            )
            yield handle
            if (await handle.wait()).status == "paused":
                return


def forecast_run(workspace: Workspace, request: RunRequest, observer: Observer) -> Forecast:
    """Forecasts a run, without starting it."""
    request = request.in_workspace(workspace)
    prepared = _prepare(workspace, request, observer, require_secrets=False)
    with _reuse(workspace, request, prepared) as reuse:
        return forecast(prepared, reuse)


def _start_new(
    workspace: Workspace, request: RunRequest, services: RunServices, retried: LedgerSource | None = None
) -> RunHandle:
    """Starts a new run. If it retries the run `retried`, results of that run are reused unless they have changed."""
    prepared = _prepare(workspace, request, services.observer)
    reuse = _reuse(workspace, request, prepared) if retried is None else Reuse(prepared, retried, cache=None)
    with ExitStack() as stack:
        services = replace(services, reuse=stack.enter_context(reuse))
        is_deterministic, out = request.is_deterministic, request.out
        handle = start_run(prepared, services, workspace, is_deterministic=is_deterministic, out=out)
        handle.close_at_end(stack.pop_all())
        return handle


def _compile(request: RunRequest) -> Compiled:
    return compile_file(request.workflow, request.root, request.inputs, script=request.script)


def _prepare(
    workspace: Workspace, request: RunRequest, observer: Observer, *, require_secrets: bool = True
) -> PreparedRun:
    compiled = _compile(request)
    if compiled.data is not None and compiled.report.findings:
        observer.warnings(compiled.report)
    return prepare(compiled, request, workspace, require_secrets=require_secrets)


def _reuse(workspace: Workspace, request: RunRequest, prepared: PreparedRun, *, uses_cache: bool = True) -> Reuse:
    base = None if request.base is None else find_ledger(request.base, workspace)
    if base is None and prepared.to_reuse:
        base = _last_run(prepared, workspace.runs)
    cache = _cache(workspace, prepared, request.cache_run) if uses_cache else None
    return Reuse(prepared, base, cache, prepared.to_reuse if request.tasks.needs_base else None)


def _cache(workspace: Workspace, prepared: PreparedRun, cache_run: Path | None) -> ResultCache | None:
    """The cache of a run, if any. Scripted runs neither read nor write the cache of the workspace."""
    if cache_run is not None:
        return RunCache(cache_run)
    return DirectoryCache(workspace.cache) if prepared.stand_in is None else None


def _last_run(prepared: PreparedRun, runs: Path) -> LedgerSource:
    """The latest run of a workflow with this name in the same mode (live or scripted). Run ids sort by time."""
    workflow, is_live = prepared.plan.metadata.name, prepared.stand_in is None
    for directory in sorted((path for path in runs.glob("*") if path.is_dir()), reverse=True):
        if workflow_of(directory) == workflow and (mode_of(directory) == "live") == is_live:
            return ledger_at(directory)
    raise UsageError(f"there is no earlier run of '{workflow}' in '{runs}'; choose a run with --base RUN")


def _resume(workspace: Workspace, request: ResumeRequest, found: FoundRun, services: RunServices) -> RunHandle:
    root = workspace.path(request.root)
    original = None if request.started_with is None else request.started_with.in_workspace(workspace)
    if original is None:
        prepared = found.prepare(found.read_invocation(), root)
        secrets: Mapping[str, Any] = read_secrets(prepared.plan, request.inputs.in_workspace(workspace))
    else:
        prepared, secrets = _prepare_from_request(workspace, original, found, root)
    check_secrets(prepared.plan, secrets)
    prepared = with_secrets(prepared, secrets)
    if request.engine is not None:
        prepared = replace(prepared, invocation=structs.replace(prepared.invocation, engine=request.engine))
    _report_changes(prepared, services.observer)
    base, eligible_tasks = prepared.invocation.base, prepared.invocation.eligible_tasks
    source = None if base is None or not base.is_dir() else ledger_at(base)
    cache = _cache(workspace, prepared, None if original is None else original.cache_run)
    with ExitStack() as stack:
        services = replace(services, reuse=stack.enter_context(Reuse(prepared, source, cache, eligible_tasks)))
        handle = resume_run(found.directory, prepared, services, found.start)
        handle.close_at_end(stack.pop_all())
        return handle


def _prepare_from_request(
    workspace: Workspace, original: RunRequest, found: FoundRun, root: Path | None
) -> tuple[PreparedRun, Mapping[str, Any]]:
    """The run and its secret inputs, from the request that started it."""
    if found.mode != original.mode:
        raise UsageError(f"the run is {found.mode}, but the request is {original.mode}; it must have the same mode")
    compiled = _compile(original)
    prepared = prepare(compiled, original, workspace)
    invocation = structs.replace(
        prepared.invocation,
        base=None if original.base is None else find_ledger(original.base, workspace).directory,
        eligible_tasks=prepared.to_reuse if original.tasks.needs_base else None,
    )
    return found.prepare(invocation, root), compiled.secrets


def _report_changes(prepared: PreparedRun, observer: Observer) -> None:
    changed, base = changed_files(prepared), prepared.invocation.base
    if changed:
        files = f"'{changed[0]}'" + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
        hint = "the run keeps its plan; to use the changes, start a new run with 'forum resume --failed'"
        observer.notice(f"{files} changed since the run started; {hint}")
    if base is not None and not base.is_dir():
        observer.notice(f"base run '{base}' does not exist; its remaining results cannot be reused")


def _retry(workspace: Workspace, request: RetryRequest, found: FoundRun, services: RunServices) -> RunHandle:
    invocation = relocate(found.read_invocation(), workspace.path(request.root))
    new_request = _retry_request(workspace, request, invocation, is_deterministic=found.mode == DETERMINISTIC)
    return _start_new(workspace, new_request, services, ledger_at(found.directory))


def _retry_request(
    workspace: Workspace, request: RetryRequest, invocation: Invocation, *, is_deterministic: bool
) -> RunRequest:
    """The request that started the run, with the inputs, the directory and the engine that `request` sets."""
    inputs, file = request.inputs.in_workspace(workspace), invocation.inputs_file
    original_file = file if file is not None and file.is_file() else None
    return RunRequest(
        _display_path(invocation.root / invocation.workflow, workspace.root),
        invocation.root,
        Inputs({**invocation.inputs, **inputs.texts}, inputs.file or original_file),
        TaskSelection(**invocation.selection),
        is_scripted=invocation.answers is not None,
        is_deterministic=is_deterministic,
        script=None if invocation.script is None else str(invocation.script),
        answers_from=None if invocation.answers_from is None else str(invocation.answers_from),
        out=workspace.path(request.out),
        engine=request.engine or invocation.engine,
    )


def _display_path(path: Path, root: Path) -> str:
    """The path to display: if it is inside the workspace, it begins with the workspace's root as the user gave it."""
    relative = os.path.relpath(path, root)
    return str(path) if relative.startswith("..") else str(root / relative)
