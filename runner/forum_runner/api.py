"""The application API: one call for everything that `forum` can do.

Every call takes a `Workspace`, and resolves relative paths against its root. Calls that wait are coroutines; the others
block until their work is done. No call prints, exits, forks, reads the current directory or touches signal handlers and
event loops. Every error that a caller can act on is a `ForumError`.

Calls import the modules that they need, so a program that only verifies ledgers loads no adapters.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forum_runner.app.requests import (
    DecisionRequest,
    Inputs,
    RedactionRequest,
    ResumeRequest,
    RetryRequest,
    RunRequest,
    TaskSelection,
    TrustedReferences,
)
from forum_runner.errors import ExitCode, ForumError, UnfinishedRunError, UsageError, file_errors
from forum_runner.ledger.source import find_ledger
from forum_runner.observer import Observer
from forum_runner.report import InvalidWorkflowError, Report
from forum_runner.workspace import Workspace

if TYPE_CHECKING:
    from forum_runner.app.doctor import Health
    from forum_runner.app.gates import Decision, OpenGates
    from forum_runner.app.proofs import LedgerCheckpoint, LedgerProof
    from forum_runner.app.reading import Log, RunDescription
    from forum_runner.app.record_import import ImportResult
    from forum_runner.app.replay import ReplayReport
    from forum_runner.app.run_handle import EndedRun, RunHandle
    from forum_runner.app.verification import RedactionResult
    from forum_runner.app.workflows import Compiled, Drawing
    from forum_runner.explanations import Explanation
    from forum_runner.graph import GraphFormat
    from forum_runner.history.difference import RunDifference
    from forum_runner.importing.parsed_source import ImportFormat
    from forum_runner.ledger.note import VerifierKey
    from forum_runner.ledger.proof import ProofReport
    from forum_runner.ledger.selection import Selection
    from forum_runner.ledger.trace import TracedEntry
    from forum_runner.ledger.verification.report import VerifyReport
    from forum_runner.report.forecast_text import Forecast

__all__ = [
    "DecisionRequest", "ExitCode", "ForumError", "Inputs", "InvalidWorkflowError", "Observer", "RedactionRequest",
    "ResumeRequest", "RetryRequest", "RunRequest", "TaskSelection", "TrustedReferences", "UnfinishedRunError",
    "UsageError", "Workspace",
]  # fmt: skip
_NO_INPUTS = Inputs()
_NO_REFERENCES = TrustedReferences()


@file_errors()
def check(
    workspace: Workspace, files: Sequence[str], *, root: Path | None = None, inputs: Inputs = _NO_INPUTS
) -> Report:
    """Checks manifests, each with everything that it names."""
    from forum_runner.app.workflows import check as check_files

    paths = [str(workspace.path(file)) for file in files]
    return check_files(paths, workspace.path(root), inputs.in_workspace(workspace))


@file_errors()
def compile(
    workspace: Workspace,
    workflow: str,
    *,
    root: Path | None = None,
    inputs: Inputs = _NO_INPUTS,
    require_all_inputs: bool = True,
    out: Path | None = None,
) -> Compiled:
    """Compiles a workflow, and writes the wave plan to the file `out`.

    Without `require_all_inputs`, an input without a value is not an error.
    """
    from forum_runner.app.workflows import compile_file

    path, root = str(workspace.path(workflow)), workspace.path(root)
    compiled = compile_file(path, root, inputs.in_workspace(workspace), require_all_inputs=require_all_inputs)
    if compiled.data is not None:
        _write(workspace, out, compiled.data, compiled.sources)
    return compiled


@file_errors()
def draw(
    workspace: Workspace,
    workflow: str,
    graph_format: GraphFormat,
    *,
    root: Path | None = None,
    inputs: Inputs = _NO_INPUTS,
    out: Path | None = None,
) -> Drawing:
    """Draws a workflow, whose inputs may lack values, and writes the drawing to the file `out`."""
    from forum_runner.app.workflows import Drawing
    from forum_runner.graph import render

    compiled = compile(workspace, workflow, root=root, inputs=inputs, require_all_inputs=False)
    if compiled.data is None:
        return Drawing(compiled.report, None)
    text = render(compiled.plan, graph_format)
    _write(workspace, out, text.encode(), compiled.sources)
    return Drawing(compiled.report, text)


@file_errors()
def forecast(workspace: Workspace, request: RunRequest, observer: Observer | None = None) -> Forecast:
    """Forecasts the fate of each task and the maximum that a run could use, without running anything."""
    from forum_runner.app.run_start import forecast_run

    return forecast_run(workspace, request, observer or Observer())


async def start(
    workspace: Workspace, request: RunRequest | ResumeRequest | RetryRequest, observer: Observer | None = None
) -> RunHandle:
    """Starts, resumes or retries a run in the running event loop. Returns when its ledger is open."""
    from forum_runner.app.run_start import start as start_request
    from forum_runner.app.runs import RunServices

    with file_errors():
        return start_request(workspace, request, RunServices(observer or Observer()))


async def run(workspace: Workspace, request: RunRequest, observer: Observer | None = None) -> EndedRun:
    """Runs a workflow until it finishes or pauses. Cancelling this call pauses the run."""
    return await (await start(workspace, request, observer)).wait()


async def resume(workspace: Workspace, request: ResumeRequest, observer: Observer | None = None) -> EndedRun:
    """Resumes a run that paused or was killed. Returns at once if the run has finished."""
    return await (await start(workspace, request, observer)).wait()


async def retry(workspace: Workspace, request: RetryRequest, observer: Observer | None = None) -> EndedRun:
    """Runs a workflow again, and reuses results of an earlier run that passed and have not changed."""
    return await (await start(workspace, request, observer)).wait()


async def repeat(
    workspace: Workspace, request: RunRequest, times: int, observer: Observer | None = None
) -> AsyncIterator[RunHandle]:
    """Runs a workflow several times, one run after the other. Stops after a run that paused."""
    from forum_runner.app.run_start import repeat as repeat_request
    from forum_runner.app.runs import RunServices

    with file_errors():
        async for handle in repeat_request(workspace, request, times, RunServices(observer or Observer())):
            yield handle


@file_errors()
def cancel(workspace: Workspace, run: str, *, now: bool = False) -> None:
    """Pauses a run that this process started, as `RunHandle.cancel` does. Any thread may call it."""
    from forum_runner.app.run_handle import active_run

    active_run(find_ledger(run, workspace)).cancel(now=now)


@file_errors()
def gates(workspace: Workspace, run: str) -> OpenGates:
    """Lists the gates of a run that wait for a decision."""
    from forum_runner.app.gates import open_gates

    return open_gates(find_ledger(run, workspace))


async def decide(workspace: Workspace, request: DecisionRequest) -> Decision:
    """Approves or rejects a task at its gate. If a process executes the run, waits until it records the decision."""
    from forum_runner.app.gates import decide as decide_gate

    with file_errors():
        return await decide_gate(find_ledger(request.run, workspace), request)


@file_errors()
def replay(workspace: Workspace, run: str) -> ReplayReport:
    """Executes a run again from its recorded answers, and compares every entry."""
    from forum_runner.app.replay import replay as replay_run

    return replay_run(find_ledger(run, workspace))


@file_errors()
def verify(
    workspace: Workspace,
    run: str,
    *,
    levels: frozenset[int] | None = None,
    trusted: TrustedReferences = _NO_REFERENCES,
    is_ledger: bool = False,
    updates_pin: bool = False,
) -> VerifyReport:
    """Verifies a ledger, at all levels that are possible.

    Without `is_ledger`, a file that does not resemble a ledger is reported as such, not as an incomplete ledger. With
    `updates_pin`, stores the head of a valid ledger in the trusted pin; if that fails, the error contains the report.
    """
    from forum_runner.app.verification import update_pin, verify_file, verify_ledger

    trusted = trusted.in_workspace(workspace)
    report = (verify_ledger if is_ledger else verify_file)(find_ledger(run, workspace), levels, trusted)
    if updates_pin and trusted.pin is not None:
        update_pin(trusted.pin, report)
    return report


@file_errors()
def verify_proof(workspace: Workspace, proof: Path, trusted: TrustedReferences = _NO_REFERENCES) -> ProofReport:
    """Checks a proof without its ledger."""
    from forum_runner.app.verification import verify_proof as verify_proof_file

    return verify_proof_file(workspace.file(proof), trusted.in_workspace(workspace))


@file_errors()
def show(workspace: Workspace, run: str) -> RunDescription:
    """Describes a run from its ledger, even if the ledger is invalid."""
    from forum_runner.app.reading import describe

    return describe(find_ledger(run, workspace))


@file_errors()
def log(workspace: Workspace, run: str, selection: Selection) -> Log:
    """Reads the entries of a ledger that match a selection."""
    from forum_runner.app.reading import open_log

    return open_log(find_ledger(run, workspace), selection)


@file_errors()
def trace(workspace: Workspace, run: str, seq: int) -> Iterator[TracedEntry]:
    """Reads the entry `seq` and its causes, the latest first. Causes that do not exist come last."""
    from forum_runner.app.reading import trace as trace_causes

    return trace_causes(find_ledger(run, workspace), seq)


@file_errors()
def diff(workspace: Workspace, left: str, right: str) -> RunDifference:
    """Finds where two runs diverge."""
    from forum_runner.app.reading import compare_runs

    return compare_runs(find_ledger(left, workspace), find_ledger(right, workspace))


@file_errors()
def checkpoint(
    workspace: Workspace, run: str, *, size: int | None = None, key: Path | None = None, out: Path | None = None
) -> LedgerCheckpoint:
    """Creates a checkpoint of the first `size` entries, signed with the private key in the file `key`."""
    from forum_runner.app.proofs import make_checkpoint

    source, key = find_ledger(run, workspace), workspace.path(key)
    result = make_checkpoint(source, size, key)
    _write(workspace, out, result.data, (source.path, key))
    return result


@file_errors()
def prove(
    workspace: Workspace,
    run: str,
    *,
    seq: int | None = None,
    from_size: int | None = None,
    size: int | None = None,
    key: Path | None = None,
    out: Path | None = None,
) -> LedgerProof:
    """Proves that entry `seq` is in a ledger, or that the ledger has only grown since it had `from_size` entries."""
    from forum_runner.app.proofs import prove_consistency, prove_inclusion

    source, key = find_ledger(run, workspace), workspace.path(key)
    if seq is not None:
        result = prove_inclusion(source, seq, size, key)
    elif from_size is not None:
        result = prove_consistency(source, from_size, size, key)
    else:
        raise UsageError("a proof needs `seq` or `from_size`")
    _write(workspace, out, result.data, (source.path, key))
    return result


@file_errors()
def keygen(workspace: Workspace, name: str, out: Path) -> VerifierKey:
    """Writes a new private key to `out`, and its public key to the same path with `.pub`."""
    from forum_runner.app.proofs import generate_key

    return generate_key(name, workspace.path(out))


@file_errors()
def redact(workspace: Workspace, request: RedactionRequest) -> RedactionResult:
    """Removes a body from a run, and records the redaction."""
    from forum_runner.app.verification import redact_body

    return redact_body(find_ledger(request.run, workspace), request)


@file_errors()
def import_record(
    workspace: Workspace, source: str, *, source_format: ImportFormat | None = None, out: Path | None = None
) -> ImportResult:
    """Creates a ledger from the record of another program."""
    from forum_runner.app.record_import import import_record as import_source

    return import_source(workspace, source, source_format, out)


async def doctor(workspace: Workspace, workflow: str | None = None, *, root: Path | None = None) -> Health:
    """Reports what is installed and, for a workflow, which programs are found and which adapters answer."""
    from forum_runner.app.doctor import examine

    return await examine(
        None if workflow is None else compile(workspace, workflow, root=root, require_all_inputs=False)
    )


@file_errors()
def init(workspace: Workspace, folder: Path) -> list[Path]:
    """Writes a starter workflow and its schemas into a folder."""

    from forum_runner.scaffold import write_scaffold

    return write_scaffold(workspace.path(folder))


def explain(code: str | None = None) -> list[Explanation]:
    """Returns the explanation of a finding's code, or of all codes."""
    from forum_runner.explanations import explanations
    from forum_runner.manifest.suggest import hint_for

    known = explanations()
    if code is None:
        return list(known.values())
    if code.upper() not in known:
        raise UsageError(f"unknown code '{code}'; {hint_for(code.upper(), known, 'codes')}")
    return [known[code.upper()]]


def schema(name: str) -> str:
    """Returns the text of a JSON Schema."""
    from forum_runner import resources
    from forum_runner.manifest.suggest import hint_for

    names = resources.schema_names()
    if name not in names:
        raise UsageError(f"unknown schema '{name}'; {hint_for(name, names, 'schemas')}")
    return resources.schema_text(name)


def schema_names() -> Sequence[str]:
    from forum_runner import resources

    return resources.schema_names()


@file_errors()
def write_schemas(workspace: Workspace, folder: Path) -> list[Path]:
    """Writes all schemas into a folder."""
    from forum_runner.scaffold import write_schemas as write

    return write(workspace.path(folder))


def _write(workspace: Workspace, out: Path | None, data: bytes, sources: Sequence[Path | None]) -> None:
    """Writes the file `out`, if it is given. Never overwrites a source."""
    from forum_runner.write_file import write_output

    if out is not None:
        write_output(workspace.path(out), data, protected=[path for path in sources if path is not None])
