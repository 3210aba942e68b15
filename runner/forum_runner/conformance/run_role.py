"""The role `run`: starts and resumes a deterministic run, decides its gates, and redacts its bodies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from forum_runner import api
from forum_runner.conformance.roles import describe_findings
from forum_runner.conformance.suite_request import WORKSPACE, SuiteRequest
from forum_runner.ledger.verification.report import DamagedLedgerError


async def answer_run_request(request: SuiteRequest) -> dict[str, Any]:
    """Answers a request for the role `run`. A refused request does not change `output`."""
    try:
        return {"verdict": "valid", "status": await _ACTIONS[request.text("action")](request)}
    except api.InvalidWorkflowError as error:
        return {"verdict": "invalid", **describe_findings(error.report.findings)}
    except (DamagedLedgerError, api.UsageError) as error:
        return {"verdict": "invalid", "message": str(error)}


async def _run(request: SuiteRequest) -> str:
    return (await api.run(_workspace(request), _run_request(request, out=request.path("output")))).status


async def _resume(request: SuiteRequest) -> str:
    """Resumes with the wave plan from the ledger and everything else from the request."""
    resume = api.ResumeRequest(request.text("output"), started_with=_run_request(request))
    ended = await api.resume(_workspace(request), resume)
    if ended.already_finished:
        raise api.UsageError(f"cannot resume the run: it finished with the status '{ended.status}'")
    return ended.status


def _workspace(request: SuiteRequest) -> api.Workspace:
    """A workspace without earlier runs, because a request names each run that it depends on."""
    return api.Workspace(WORKSPACE.root, runs=request.path("output") / "runs")


def _run_request(request: SuiteRequest, out: Path | None = None) -> api.RunRequest:
    return api.RunRequest(
        request.text("input"),
        request.path("root"),
        api.Inputs(file=request.optional_path("inputs")),
        api.TaskSelection(request.names("only"), request.names("from"), request.names("until")),
        request.optional_text("base"),
        is_deterministic=True,
        script=request.optional_text("script"),
        cache_run=request.optional_path("cache"),
        out=out,
    )


async def _decide(request: SuiteRequest) -> str:
    decision = api.DecisionRequest(
        request.text("output"),
        request.text("task"),
        request.text("decision"),
        request.text("by"),
        request.optional_text("reason"),
        instruction=request.optional_text("edited"),
    )
    await api.decide(WORKSPACE, decision)
    return _status(request)


async def _redact(request: SuiteRequest) -> str:
    texts = request.text("body"), request.text("reason"), request.text("by")
    api.redact(WORKSPACE, api.RedactionRequest(request.text("output"), request.number("entry"), *texts))
    return _status(request)


_ACTIONS: dict[str, Callable[[SuiteRequest], Awaitable[str]]] = {
    "run": _run,
    "resume": _resume,
    "decide": _decide,
    "redact": _redact,
}


def _status(request: SuiteRequest) -> str:
    """The status in the last seal, or `paused` if the run is not sealed."""
    history = api.show(WORKSPACE, request.text("output")).history
    return history.status if history.is_sealed else "paused"
