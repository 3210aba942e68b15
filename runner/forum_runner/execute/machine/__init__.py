"""The machine decides what a run does: events in, entries and commands out."""

from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.machine.call_result import missing_for_outputs
from forum_runner.execute.machine.core import Context, Reusable
from forum_runner.execute.machine.events import (
    Cancel,
    Command,
    Decided,
    Event,
    Interrupted,
    Outcome,
    TimePassed,
    Transition,
)
from forum_runner.execute.machine.fingerprint import Fingerprints
from forum_runner.execute.machine.machine import Machine
from forum_runner.execute.machine.program_call import limits_of
from forum_runner.execute.machine.prompt_renderer import MAX_FEEDBACK_BYTES, VERDICT_SCHEMA, holds_secret
from forum_runner.execute.machine.routing import route
from forum_runner.execute.machine.state import RunState
from forum_runner.execute.machine.task_output import Output
from forum_runner.execute.machine.unit import GateState, Unit

__all__ = [
    "MAX_FEEDBACK_BYTES",
    "VERDICT_SCHEMA",
    "Cancel",
    "Command",
    "Context",
    "Decided",
    "Event",
    "Fingerprints",
    "GateState",
    "Interrupted",
    "Lost",
    "Machine",
    "Outcome",
    "Output",
    "Replied",
    "Reusable",
    "RunState",
    "TimePassed",
    "Transition",
    "Unit",
    "holds_secret",
    "limits_of",
    "missing_for_outputs",
    "route",
]
