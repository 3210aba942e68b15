"""The role `run`: a deterministic run, begun, gone on with, decided in or redacted in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from forum_runner.app.conformance.compile import findings_told
from forum_runner.app.conformance.request import Request
from forum_runner.app.gates import decide, person_name
from forum_runner.app.invocation import Invocation
from forum_runner.app.open_run import DETERMINISTIC
from forum_runner.app.resume import find_stopped, resume
from forum_runner.app.reuse import Reuse
from forum_runner.app.run_preparation import Prepared, Selected, prepare
from forum_runner.app.runs import RunServices, start
from forum_runner.app.verification import redact_body
from forum_runner.app.workflows import Compiled, Inputs, compile_file
from forum_runner.errors import UsageError
from forum_runner.execute.reuse import RunCache
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import find_ledger
from forum_runner.ledger.verification.report import DamagedLedgerError
from forum_runner.progress.silence import Silence

_Told = dict[str, Any]


def carry_out(request: Request) -> _Told:
    """What is refused leaves no trace: `output` is as it was."""
    try:
        return _ACTIONS[request.action](request)
    except (DamagedLedgerError, UsageError) as error:
        return {"verdict": "invalid", "message": str(error)}


def _run(request: Request) -> _Told:
    output = request.path("output")
    compiled = _compiled(request)
    if compiled.wave_plan is None:
        return {"verdict": "invalid", **findings_told(compiled.report.findings)}
    prepared = _prepared(request, compiled)
    if "base" not in request.members and prepared.to_reuse:
        raise UsageError(f"'{min(prepared.to_reuse)}' is to be reused, and there is no run that it could be taken from")
    with _reuse(request, prepared, prepared.to_reuse) as reuse:
        means = RunServices(Silence(), reuse.find)
        finished = start(prepared, means, is_deterministic=True, out=output, source=reuse.source)
    return {"verdict": "valid", "status": finished.outcome.status}


def _resume(request: Request) -> _Told:
    """The wave plan is the ledger's own; all that the record does not hold comes with the request."""
    compiled = _compiled(request)
    if compiled.wave_plan is None:
        return {"verdict": "invalid", **findings_told(compiled.report.findings)}
    begun = _prepared(request, compiled)
    known = Invocation(begun.root, begun.workflow, begun.answers)
    stopped = find_stopped(request.text("output"), None, known)
    if stopped.mode != DETERMINISTIC:
        raise UsageError(f"the run is {stopped.mode}, and not {DETERMINISTIC}")
    with _reuse(request, stopped.prepared, begun.to_reuse) as reuse:
        finished = resume(stopped, compiled.secrets, RunServices(Silence(), reuse.find))
    return {"verdict": "valid", "status": finished.outcome.status}


def _prepared(request: Request, compiled: Compiled) -> Prepared:
    return prepare(
        compiled,
        request.text("input"),
        is_scripted=True,
        script=request.optional_text("script"),
        selected=_selected(request),
        inputs=_inputs(request),
    )


def _reuse(request: Request, prepared: Prepared, to_reuse: frozenset[str]) -> Reuse:
    among = to_reuse if _selected(request).needs_base else None
    return Reuse(prepared, request.optional_text("base"), among=among, cache=_cache(request))


def _decide(request: Request) -> _Told:
    directory = request.text("output")
    decide(
        directory,
        request.text("task"),
        request.text("decision"),
        by=request.text("by"),
        reason=request.optional_text("reason"),
        shown=None,
        instruction=request.optional_text("edited"),
    )
    return {"verdict": "valid", "status": _status(Path(directory))}


def _redact(request: Request) -> _Told:
    directory = request.path("output")
    actor = f"person:{person_name(request.text('by'))}"
    source = find_ledger(str(directory))
    redact_body(source, request.number("entry"), request.text("body"), request.text("reason"), actor)
    return {"verdict": "valid", "status": _status(directory)}


_ACTIONS: dict[str, Callable[[Request], _Told]] = {
    "run": _run,
    "resume": _resume,
    "decide": _decide,
    "redact": _redact,
}


def _compiled(request: Request) -> Compiled:
    root, script = request.path("root"), request.optional_text("script")
    return compile_file(request.text("input"), root, _inputs(request), script=script)


def _inputs(request: Request) -> Inputs:
    return Inputs(file=request.optional_path("inputs"))


def _selected(request: Request) -> Selected:
    return Selected(request.names("only"), request.names("from"), request.names("until"))


def _cache(request: Request) -> RunCache | None:
    given = request.optional_path("cache")
    return None if given is None else RunCache(given)


def _status(directory: Path) -> str:
    """How a run stands: as its last seal says, and paused without one."""
    sealed = [entry.data["status"] for entry in read_entries(directory) if entry.kind == "run.sealed"]
    return str(sealed[-1]) if sealed else "paused"
