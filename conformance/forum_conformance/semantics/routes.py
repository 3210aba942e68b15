"""The rules for routes of tasks with a lane, and for escalation along a unit's ladder."""

from forum_conformance.entry import Entry
from forum_conformance.semantics.names import unit_of
from forum_conformance.semantics.state import Run
from forum_conformance.semantics.violation import require, require_cause


def route_decided(run: Run, entry: Entry) -> None:
    unit, agent = unit_of(run, entry), entry["data"]["agent"]
    task = run.task_of(unit)
    require("lane" in task, "L411", f"'{unit.name}' is routed, but its task has no lane")
    is_due = not unit.is_routed and not unit.has_started and unit.ending is None
    require(is_due, "L411", f"'{unit.name}' was already routed, or has started or ended")
    fields = run.plan.agents[agent]
    adapters = fields["adapters"]
    unit.ladder = [(fields["tier"], adapters.get(fields["tier"]))]
    unit.ladder += [(tier, adapters[tier]) for tier in task.get("escalate", []) if tier in adapters]
    unit.agent = agent
    unit.is_routed = True


def escalation_raised(run: Run, entry: Entry) -> None:
    unit, data = unit_of(run, entry), entry["data"]
    is_open = unit.ending is None and unit.attempts > 0 and unit.call is None
    require(is_open, "L418", f"'{unit.name}' escalates, but it has ended, has not been attempted, or has an open call")
    require(not run.holds(unit), "L418", f"'{unit.name}' escalates although its result holds")
    tiers = [tier for tier, _ in unit.ladder[unit.step : unit.step + 2]]
    is_next = tiers == [data["from"], data["to"]]
    require(is_next, "L418", f"'{unit.name}' has no step from {data['from']} to {data['to']} here")
    require_cause(entry, unit.closed_seq, "the entry that closed the last attempt")
    unit.step += 1
    unit.attempts_at_step = 0
