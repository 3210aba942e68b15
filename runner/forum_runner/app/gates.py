"""The pending gates of a run, and decisions about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forum_runner.app.decision_box import DECISIONS, hand_over
from forum_runner.app.open_run import DETERMINISTIC, open_run
from forum_runner.app.requests import DecisionRequest, checked_person_name
from forum_runner.app.run_handle import close_abandoned_run
from forum_runner.app.run_preparation import secret_variables
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Decided
from forum_runner.execute.resume import read_run_start
from forum_runner.execute.secrets import Scrubber
from forum_runner.history.read_history import read_history
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.body import Body
from forum_runner.ledger.clock import parse_time, wall_clock
from forum_runner.ledger.files import LedgerBusyError, is_being_written
from forum_runner.ledger.recognition import run_directory
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import LedgerSource, ledger_at
from forum_runner.manifest.suggest import hint_for
from forum_runner.report.next_commands import command_line
from forum_runner.report.pending_gate import PendingGate, read_pending_gates
from forum_runner.report.run_context import RunContext

_MIN_DIGEST_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class OpenGates:
    """The pending gates of a run, and whether a process executes the run."""

    gates: tuple[PendingGate, ...]
    is_running: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A recorded decision, and the gates that are still pending.

    `is_running`: the process that executes the run recorded the decision, and continues.
    """

    gate: PendingGate
    pending: tuple[PendingGate, ...]
    is_running: bool


def open_gates(source: LedgerSource) -> OpenGates:
    directory = _directory(source)
    history = read_history(source)
    # A paused run has no process. Taking its lock could block a process that resumes it.
    is_running = history.pause_reason is None and is_being_written(directory)
    is_waiting = any(task.is_waiting for task in history.open_tasks.values())
    return OpenGates(_pending_gates(directory, history, _context(directory)) if is_waiting else (), is_running)


async def decide(source: LedgerSource, request: DecisionRequest) -> Decision:
    """Records a decision, or hands it to the process that executes the run."""
    directory, actor = _directory(source), f"person:{checked_person_name(request.by)}"
    if request.decision not in DECISIONS:
        raise UsageError(f"unknown decision '{request.decision}'; use 'approved' or 'rejected'")
    if request.instruction == "":
        raise UsageError(f"the instruction for '{request.task}' is empty")
    context = _context(directory)
    close_abandoned_run(directory)
    while True:
        try:
            # Take the lock first: if two people decide at once, the second one finds that the gate is decided.
            with open_run(directory) as ledger:
                gate = _find_gate(directory, request.task, context)
                data, bodies = _decision_entry(context, gate, request)
                ledger.append("gate.decided", data, bodies=bodies, causes=[gate.seq], actor=actor)
            return Decision(gate, _read_gates(directory, context), is_running=False)
        except LedgerBusyError:
            gate = _find_gate(directory, request.task, context)
            _, bodies = _decision_entry(context, gate, request)
            texts = {name: body.data for name, body in bodies.items()}
            decided = Decided(request.task, request.decision, actor, gate.digest, texts)
            if await hand_over(directory, decided, gate.seq):
                return Decision(gate, _read_gates(directory, context), is_running=True)


def _decision_entry(
    context: RunContext, gate: PendingGate, request: DecisionRequest
) -> tuple[dict[str, Any], dict[str, Body]]:
    task, planned = gate.task, context.planned_task(gate.task)
    if context.plan is None or planned is None:
        raise UsageError("the wave plan of the run was redacted, so its gates cannot be decided")
    if gate.is_expired:
        raise UsageError(f"the deadline of '{task}' passed at {gate.deadline}; apply `on_deadline` with `forum resume`")
    if request.displayed_digest is not None:
        _check_displayed(gate, request)
    if request.instruction is not None and planned.run is not None:
        raise UsageError(f"'{task}' runs a program; only an agent's instruction can be edited")
    texts = {"reason": request.reason, "edited": request.instruction}
    scrubber = Scrubber(secret_variables(context.plan))
    bodies = {
        name: scrubber.scrub_body(Body.text(text, is_sensitive=gate.is_sensitive))
        for name, text in texts.items()
        if text is not None
    }
    data = {
        "task": task,
        "decision": request.decision,
        "by": "person",
        "authenticated": False,
        "displayed": gate.digest,
    }
    return data, bodies


def _check_displayed(gate: PendingGate, request: DecisionRequest) -> None:
    displayed = request.displayed_digest or ""
    if not gate.digest.startswith(displayed):
        hint = f"read it again with: {command_line('gate', 'list', request.run)}"
        raise UsageError(f"the digest of the gate '{gate.task}' is {gate.digest}, not {displayed}; {hint}")
    # A short prefix matches too much, and an unset variable in a script matches everything.
    if len(displayed) < _MIN_DIGEST_CHARACTERS:
        raise UsageError(f"'{displayed}' is too short: use at least {_MIN_DIGEST_CHARACTERS} characters of the digest")


def _directory(source: LedgerSource) -> Path:
    return run_directory(source, "approving or rejecting a gate needs the run directory")


def _context(directory: Path) -> RunContext:
    """The context of a run, without a plan if the run has no plan or its plan was redacted.

    Raises a DamagedLedgerError if the first entry or the plan is invalid.
    """
    opened = next(read_entries(directory), None)
    if opened is None:
        return RunContext()
    try:
        return RunContext(opened.run, read_run_start(directory).plan)
    except UsageError:
        return RunContext(opened.run)


def _read_gates(directory: Path, context: RunContext) -> tuple[PendingGate, ...]:
    return _pending_gates(directory, read_history(ledger_at(directory)), context)


def _find_gate(directory: Path, task: str, context: RunContext) -> PendingGate:
    history = read_history(ledger_at(directory))
    gates = _pending_gates(directory, history, context)
    for gate in gates:
        if gate.task == task:
            return gate
    decided = history.tasks[task].gate if task in history.tasks else None
    if decided is not None and decided.decision is not None:
        raise UsageError(f"the gate of '{task}' is already {decided.decision.decision}")
    hint = hint_for(task, [gate.task for gate in gates], "gates") if gates else "the run has none"
    raise UsageError(f"'{task}' has no pending gate; {hint}")


def _pending_gates(directory: Path, history: RunHistory, context: RunContext) -> tuple[PendingGate, ...]:
    # The clock of a deterministic run stops with its last entry.
    is_deterministic = history.opened is not None and history.opened.data.get("mode") == DETERMINISTIC
    now_us = parse_time(history.last.at) if is_deterministic and history.last is not None else wall_clock()
    return tuple(
        replace(gate, is_expired=gate.deadline is not None and parse_time(gate.deadline) <= now_us)
        for gate in read_pending_gates(directory, history, context)
    )
