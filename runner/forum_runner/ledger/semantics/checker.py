"""Goes through the entries of a run, and stops at the first that is not lawful."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entry_schema import OWN_PREFIX
from forum_runner.ledger.semantics import attempt_rules, begin_rules, end_rules
from forum_runner.ledger.semantics.plan import Plan
from forum_runner.ledger.semantics.state import RunState
from forum_runner.ledger.semantics.violation import Violation

Rule = Callable[[RunState, int, Mapping[str, Any]], None]

_WHILE_PAUSED = frozenset({"gate.decided", "body.redacted", "run.repaired", "run.resumed"})
_BEGINS_A_CALL = frozenset({"task.started", "verdict.asked"})


def _context_cut(state: RunState, _seq: int, entry: Mapping[str, Any]) -> None:
    unit, name = state.unit(entry["data"]["task"]), entry["data"]["as"]
    item = (unit.task.foreach or {}).get("as") if unit.index is not None else None
    if name not in unit.task.edges and name != item:
        raise Violation("L402", f"'{unit.name}' has no data edge '{name}'")


def _budget_exceeded(state: RunState, _seq: int, entry: Mapping[str, Any]) -> None:
    state.unit(entry["data"]["task"])


def _nothing(_state: RunState, _seq: int, _entry: Mapping[str, Any]) -> None:
    """No rule of level 4 speaks of such an entry."""


RULES: dict[str, Rule] = {
    "run.opened": _nothing,
    "run.paused": end_rules.run_paused,
    "run.resumed": end_rules.run_resumed,
    "run.repaired": _nothing,
    "run.sealed": end_rules.run_sealed,
    "wave.opened": begin_rules.wave_opened,
    "route.decided": begin_rules.route_decided,
    "task.expanded": begin_rules.task_expanded,
    "task.started": attempt_rules.task_started,
    "task.finished": attempt_rules.task_finished,
    "task.lost": attempt_rules.task_lost,
    "task.reused": attempt_rules.task_reused,
    "task.ended": end_rules.task_ended,
    "edge.delivered": begin_rules.edge_delivered,
    "context.cut": _context_cut,
    "gate.opened": begin_rules.gate_opened,
    "gate.decided": begin_rules.gate_decided,
    "verdict.asked": attempt_rules.verdict_asked,
    "verdict.given": attempt_rules.verdict_given,
    "verdict.lost": attempt_rules.verdict_lost,
    "escalation.raised": attempt_rules.escalation_raised,
    "budget.stopped": _nothing,
    "budget.exceeded": _budget_exceeded,
    "answer.given": end_rules.answer_given,
    "body.redacted": _nothing,
}


class SemanticsChecker:
    def __init__(self, plan: Plan, bodies: BodyReader) -> None:
        self._state = RunState(plan, bodies)

    def observe(self, seq: int, entry: Mapping[str, Any]) -> None:
        """Raises `Violation` if the entry cannot stand where it stands."""
        kind = entry["kind"]
        if self._state.is_paused and kind not in _WHILE_PAUSED and not kind.startswith(OWN_PREFIX):
            raise Violation("L424", f"{kind} stands between a pause and what resumes the run")
        if self._state.orphans and kind in _BEGINS_A_CALL:
            raise Violation("L424", "a call begins, and one that was open when the run was resumed has not been lost")
        rule = RULES.get(kind)
        if rule is not None:
            rule(self._state, seq, entry)
