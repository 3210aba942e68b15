"""The open gates of a run, and decisions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from forum_runner.app.decision_box import hand_over
from forum_runner.app.open_run import DETERMINISTIC, open_run
from forum_runner.app.requests import DecisionRequest, person_name
from forum_runner.app.run_preparation import secret_variables
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Decided
from forum_runner.execute.secrets import Scrubber
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.body import Body
from forum_runner.ledger.clock import read_time, wall_clock
from forum_runner.ledger.files import LedgerBusyError, is_being_written
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import part, text
from forum_runner.ledger.recognition import run_directory
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import LedgerSource
from forum_runner.manifest.suggest import hint_for

_LEAST_OF_A_DIGEST = 8


@dataclass(frozen=True, slots=True)
class OpenGate:
    """`displayed` is what a person decides about, None if it is redacted; a decision refers to its digest.

    `on_deadline` is what the deadline decides, and `is_over` says that it has passed.
    """

    task: str
    seq: int
    digest: str
    deadline: str | None
    on_deadline: str | None
    is_sensitive: bool
    displayed: dict[str, Any] | None
    is_over: bool


@dataclass(frozen=True, slots=True)
class OpenGates:
    """The open gates of a run, and whether a process is running it."""

    gates: tuple[OpenGate, ...]
    is_running: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that was recorded, and the gates that are still open. `is_running`: the process that is running the
    run recorded it, and continues."""

    gate: OpenGate
    left: tuple[OpenGate, ...]
    is_running: bool


def open_gates(source: LedgerSource) -> OpenGates:
    directory = _directory(source)
    found = _history(directory)
    # A paused run has no process: asking for its lock could hinder one that resumes it.
    is_running = found.paused is None and is_being_written(directory)
    return OpenGates(tuple(_gates_of(directory, found)), is_running)


async def decide(source: LedgerSource, request: DecisionRequest) -> Decision:
    """Records a decision, or hands it to the process that is running the run."""
    directory, actor = _directory(source), f"person:{person_name(request.by)}"
    if request.instruction == "":
        raise UsageError(f"the instruction for '{request.task}' is empty")
    while True:
        try:
            # The lock first: of two people who decide at once, the second one finds a decision.
            with open_run(directory) as ledger:
                gate = _gate(directory, request.task)
                data, bodies = _decision(directory, gate, request)
                ledger.append("gate.decided", data, bodies=bodies, causes=[gate.seq], actor=actor)
            return Decision(gate, _gates_in(directory), is_running=False)
        except LedgerBusyError:
            gate = _gate(directory, request.task)
            _, bodies = _decision(directory, gate, request)
            texts = {name: body.data for name, body in bodies.items()}
            decided = Decided(request.task, request.decision, actor, gate.digest, texts)
            if await hand_over(directory, decided, gate.seq):
                return Decision(gate, _gates_in(directory), is_running=True)


def _decision(directory: Path, gate: OpenGate, request: DecisionRequest) -> tuple[dict[str, Any], dict[str, Body]]:
    task = gate.task
    if gate.is_over:
        raise UsageError(f"the deadline of '{task}' passed at {gate.deadline}; `forum resume` records what it decides")
    if request.displayed is not None:
        _check_displayed(gate, request.displayed)
    if request.instruction is not None and "run" in _task_form(_wave_plan(directory), task):
        raise UsageError(f"'{task}' runs a program; only an agent's instruction can be edited")
    texts = {"reason": request.reason, "edited": request.instruction}
    scrubber = Scrubber(secret_variables(_wave_plan(directory)))
    bodies = {
        name: scrubber.body(Body.text(text, is_sensitive=gate.is_sensitive))
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


def _check_displayed(gate: OpenGate, displayed: str) -> None:
    if not gate.digest.startswith(displayed):
        raise UsageError(f"'{gate.task}' displays something else: its digest is {gate.digest}, not {displayed}")
    # A short prefix matches too much, and an unset variable in a script matches everything.
    if len(displayed) < _LEAST_OF_A_DIGEST:
        raise UsageError(f"'{displayed}' is too short: give at least {_LEAST_OF_A_DIGEST} characters of the digest")


def _directory(source: LedgerSource) -> Path:
    return run_directory(source, "a decision needs the run directory")


def _task_form(wave_plan: Mapping[str, Any], unit: str) -> Mapping[str, Any]:
    """The plan's task of a unit: an instance has a number in brackets at its end."""
    tasks: Mapping[str, Mapping[str, Any]] = wave_plan["tasks"]
    return tasks[unit] if unit in tasks else tasks[unit.rpartition("[")[0]]


def _wave_plan(directory: Path) -> dict[str, Any]:
    """The wave plan of a run that has a gate."""
    opened = next(read_entries(directory))
    with (directory / BODIES).open("rb") as stream:
        plan: dict[str, Any] = orjson.loads(RecordedBodies(stream).body(opened.bodies["wave_plan"]).data)
    return plan


def _gates_in(directory: Path) -> tuple[OpenGate, ...]:
    return tuple(_gates_of(directory, _history(directory)))


def _gate(directory: Path, task: str) -> OpenGate:
    gates = _gates_in(directory)
    for gate in gates:
        if gate.task == task:
            return gate
    hint = hint_for(task, [gate.task for gate in gates], "gates") if gates else "no gate is open"
    raise UsageError(f"no gate of '{task}' is open; {hint}")


def _history(directory: Path) -> RunHistory:
    history = RunHistory()
    for entry in read_entries(directory):
        history.apply(entry)
    return history


def _gates_of(directory: Path, history: RunHistory) -> Iterator[OpenGate]:
    waiting = [task.gate.opened for task in history.open_tasks.values() if task.is_waiting and task.gate is not None]
    opened = {str(entry.task): entry for entry in waiting if entry is not None}
    with_deadline = [task for task, entry in opened.items() if "deadline" in entry.data]
    rules = _deadline_rules(directory, with_deadline) if with_deadline else {}
    now_us = _now_us(history)
    with (directory / BODIES).open("rb") as stream:
        bodies = RecordedBodies(stream)
        for task, entry in sorted(opened.items(), key=lambda item: item[1].seq):
            reference, deadline = entry.bodies["displayed"], entry.data.get("deadline")
            yield OpenGate(
                task,
                entry.seq,
                reference["digest"],
                deadline,
                rules.get(task),
                "salted" in reference,
                _displayed(bodies, reference),
                deadline is not None and read_time(deadline) <= now_us,
            )


def _now_us(history: RunHistory) -> int:
    """The time of a deterministic run is that of its last entry."""
    is_deterministic = history.opened is not None and history.opened.data.get("mode") == DETERMINISTIC
    return read_time(history.last.at) if is_deterministic and history.last is not None else wall_clock()


def _deadline_rules(directory: Path, tasks: Iterable[str]) -> dict[str, str | None]:
    """What the deadline of each task decides; empty if the plan is redacted."""
    try:
        plan = _wave_plan(directory)
    except UsageError:
        return {}
    return {task: text(part(_task_form(plan, task), "gate"), "on_deadline") for task in tasks}


def _displayed(bodies: RecordedBodies, reference: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        displayed: dict[str, Any] = orjson.loads(bodies.body(reference).data)
    except (UsageError, ValueError):
        return None
    return displayed
