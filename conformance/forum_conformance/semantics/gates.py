"""The rules for gates: a person or a deadline decides."""

from forum_conformance.body_references import bodies_of
from forum_conformance.entry import Entry
from forum_conformance.semantics.names import unit_of
from forum_conformance.semantics.state import Gate, Run, Unit
from forum_conformance.semantics.violation import Violation, require, require_cause

_DECISIONS = {"approve": "approved", "reject": "rejected"}


def gate_opened(run: Run, entry: Entry) -> None:
    unit, deadline = unit_of(run, entry), entry["data"].get("deadline")
    task = run.task_of(unit)
    require("gate" in task, "L414", f"'{unit.name}' has no gate")
    is_due = unit.gate is None and not unit.has_started and unit.ending is None
    require(is_due, "L414", f"the gate of '{unit.name}' was already opened, or the unit has started or ended")
    has_deadline = "deadline_ms" in task["gate"]
    require(
        (deadline is not None) == has_deadline,
        "L414",
        f"the gate of '{unit.name}' has {'no ' if has_deadline else 'a '}deadline, unlike in the plan",
    )
    unit.gate = Gate(entry["seq"], bodies_of(entry)["displayed"].digest, deadline)


def gate_decided(run: Run, entry: Entry) -> None:
    unit, data = unit_of(run, entry), entry["data"]
    gate = unit.gate
    if gate is None or gate.decision is not None:
        raise Violation("L414", f"the gate of '{unit.name}' is not open, or is already decided")
    require(data["displayed"] == gate.displayed, "L414", "`displayed` is not the digest of the displayed body")
    _require_in_time(run, unit, gate, entry)
    require_cause(entry, gate.seq, "the opening of the gate")
    gate.decision = data["decision"]
    gate.decided_seq = entry["seq"]


def _require_in_time(run: Run, unit: Unit, gate: Gate, entry: Entry) -> None:
    data, deadline = entry["data"], gate.deadline
    if data["by"] == "person":
        is_before_deadline = deadline is None or entry["at"] < deadline
        require(is_before_deadline, "L414", f"a person decided the gate of '{unit.name}' after its deadline")
        return
    is_deadline_reached = deadline is not None and entry["at"] >= deadline
    require(
        is_deadline_reached,
        "L414",
        f"the gate of '{unit.name}' was decided by deadline, but its deadline had not passed or it has none",
    )
    expected = _DECISIONS[run.task_of(unit)["gate"]["on_deadline"]]
    require(data["decision"] == expected, "L414", f"at its deadline, the gate of '{unit.name}' must be {expected}")
