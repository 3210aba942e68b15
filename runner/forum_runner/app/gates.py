"""What waits for a person, and what a person decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from forum_runner.app.decision_box import hand_over
from forum_runner.app.open_run import DETERMINISTIC, open_run
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
from forum_runner.ledger.source import find_ledger
from forum_runner.manifest.suggest import hint_for

_LEAST_OF_A_DIGEST = 8
_NAME = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class WaitingGate:
    """`shown` is what a person decides on, None where it is redacted; a decision names its digest.

    `on_deadline` is what counts as decided after a deadline, and `is_over` says that it has passed: a deterministic run
    stands at its last entry.
    """

    task: str
    seq: int
    digest: str
    deadline: str | None
    on_deadline: str | None
    is_sensitive: bool
    shown: dict[str, Any] | None
    is_over: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """The gates of a run that are open, and whether a process is at work with the run."""

    gates: tuple[WaitingGate, ...]
    is_at_work: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that was recorded. `is_at_work`: by the process that is at work with the run, and goes on with it."""

    gate: WaitingGate
    is_at_work: bool


def waiting_gates(run: str) -> list[WaitingGate]:
    directory = _directory(run)
    return list(_gates_of(directory, _history(directory)))


def look_at_gates(run: str) -> Waiting:
    directory = _directory(run)
    found = _history(directory)
    # Nobody is at work with a run that is paused, and to ask could be in the way of whoever goes on with it.
    is_at_work = found.paused is None and is_being_written(directory)
    return Waiting(tuple(_gates_of(directory, found)), is_at_work)


def decide(
    run: str, task: str, decision: str, *, by: str, reason: str | None, shown: str | None, instruction: str | None
) -> Decision:
    """Records a decision. `shown` is the digest that the person saw, if they say so: another one is refused."""
    directory, actor = _directory(run), f"person:{person_name(by)}"
    if instruction == "":
        raise UsageError(f"the instruction is empty: '{task}' would not be told what to do")
    while True:
        try:
            # The lock first: of two who decide at once, the second one finds that it is decided.
            with open_run(directory) as ledger:
                gate = _gate(waiting_gates(run), task)
                data, bodies = _decision(directory, gate, decision, reason, shown, instruction)
                ledger.append("gate.decided", data, bodies=bodies, causes=[gate.seq], actor=actor)
            return Decision(gate, is_at_work=False)
        except LedgerBusyError:
            gate = _gate(waiting_gates(run), task)
            _, bodies = _decision(directory, gate, decision, reason, shown, instruction)
            texts = {name: body.data for name, body in bodies.items()}
            if hand_over(directory, Decided(task, decision, actor, gate.digest, texts), gate.seq):
                return Decision(gate, is_at_work=True)


def _decision(
    directory: Path, gate: WaitingGate, decision: str, reason: str | None, shown: str | None, instruction: str | None
) -> tuple[dict[str, Any], dict[str, Body]]:
    task = gate.task
    if gate.is_over:
        raise UsageError(
            f"the deadline of '{task}' passed at {gate.deadline}; `forum resume` goes on with what it decides"
        )
    if shown is not None:
        _check_shown(gate, shown)
    if instruction is not None and "run" in _task_form(_wave_plan(directory), task):
        raise UsageError(f"'{task}' runs a program: only what an agent is told can be edited")
    texts = {"reason": reason, "edited": instruction}
    scrubber = Scrubber(secret_variables(_wave_plan(directory)))
    bodies = {
        name: scrubber.body(Body.text(text, is_sensitive=gate.is_sensitive))
        for name, text in texts.items()
        if text is not None
    }
    data = {"task": task, "decision": decision, "by": "person", "authenticated": False, "shown": gate.digest}
    return data, bodies


def _check_shown(gate: WaitingGate, shown: str) -> None:
    if not gate.digest.startswith(shown):
        raise UsageError(f"what is shown at '{gate.task}' has the digest {gate.digest}, and not {shown}")
    # A few characters would fit too much, and a variable of a script that is not set would fit everything.
    if len(shown) < _LEAST_OF_A_DIGEST:
        raise UsageError(f"'{shown}' is too short for a digest: give {_LEAST_OF_A_DIGEST} of its characters or more")


def person_name(given: str) -> str:
    """A name as entries have it. Another is refused, not changed: the record would name somebody else."""
    if not given:
        raise UsageError("say who decides, with --by NAME")
    if not _NAME.fullmatch(given):
        raise UsageError(
            f"'{given}' cannot be recorded as a name: no spaces, only ASCII, at most 200 characters (--by)"
        )
    return given


def _directory(run: str) -> Path:
    return run_directory(find_ledger(run), "a decision needs the run directory")


def _task_form(wave_plan: Mapping[str, Any], unit: str) -> Mapping[str, Any]:
    """The plan's task of a unit: an instance has a number in brackets at its end."""
    tasks: Mapping[str, Mapping[str, Any]] = wave_plan["tasks"]
    return tasks[unit] if unit in tasks else tasks[unit.rpartition("[")[0]]


def _wave_plan(directory: Path) -> dict[str, Any]:
    """Of a run that has a gate, so it has a plan, too."""
    opened = next(read_entries(directory))
    with (directory / BODIES).open("rb") as stream:
        plan: dict[str, Any] = orjson.loads(RecordedBodies(stream).body(opened.bodies["wave_plan"]).data)
    return plan


def _gate(gates: list[WaitingGate], task: str) -> WaitingGate:
    for gate in gates:
        if gate.task == task:
            return gate
    hint = hint_for(task, [gate.task for gate in gates], "gates") if gates else "none is open"
    raise UsageError(f"no gate of '{task}' waits for a decision; {hint}")


def _history(directory: Path) -> RunHistory:
    history = RunHistory()
    for entry in read_entries(directory):
        history.apply(entry)
    return history


def _gates_of(directory: Path, history: RunHistory) -> Iterator[WaitingGate]:
    waiting = [task.gate.opened for task in history.open_tasks.values() if task.is_waiting and task.gate is not None]
    opened = {str(entry.task): entry for entry in waiting if entry is not None}
    with_deadline = [task for task, entry in opened.items() if "deadline" in entry.data]
    rules = _deadline_rules(directory, with_deadline) if with_deadline else {}
    now_us = _now_us(history)
    with (directory / BODIES).open("rb") as stream:
        bodies = RecordedBodies(stream)
        for task, entry in sorted(opened.items(), key=lambda item: item[1].seq):
            reference, deadline = entry.bodies["shown"], entry.data.get("deadline")
            yield WaitingGate(
                task,
                entry.seq,
                reference["digest"],
                deadline,
                rules.get(task),
                "salted" in reference,
                _shown(bodies, reference),
                deadline is not None and read_time(deadline) <= now_us,
            )


def _now_us(history: RunHistory) -> int:
    """The time of a deterministic run is that of its last entry."""
    is_deterministic = history.opened is not None and history.opened.data.get("mode") == DETERMINISTIC
    return read_time(history.last.at) if is_deterministic and history.last is not None else wall_clock()


def _deadline_rules(directory: Path, tasks: Iterable[str]) -> dict[str, str | None]:
    """What counts as decided after the deadline, by the task; nothing where the plan is redacted."""
    try:
        plan = _wave_plan(directory)
    except UsageError:
        return {}
    return {task: text(part(_task_form(plan, task), "gate"), "on_deadline") for task in tasks}


def _shown(bodies: RecordedBodies, reference: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        shown: dict[str, Any] = orjson.loads(bodies.body(reference).data)
    except (UsageError, ValueError):
        return None
    return shown
