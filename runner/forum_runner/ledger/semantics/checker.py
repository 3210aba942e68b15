"""Checks the entries of a run, in order, against the rules of level 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entries import USER_PREFIX, BudgetExceeded, ContextCut, Entry
from forum_runner.ledger.semantics import attempt_rules, begin_rules, end_rules
from forum_runner.ledger.semantics.checked_run import CheckedRun
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.wave_plan_reader import WavePlan

_ALLOWED_WHILE_PAUSED = frozenset({"gate.decided", "body.redacted", "run.repaired", "run.resumed"})
_CALL_STARTS = frozenset({"task.started", "verdict.asked"})


def _context_cut(run: CheckedRun, entry: Entry[ContextCut]) -> None:
    unit, name = run.unit(entry.data.task), entry.data.as_
    if unit.delivered_value(name) is None and name != unit.item_name:
        raise Violation("L402", f"'{unit.name}' has no data edge '{name}'")


def _budget_exceeded(run: CheckedRun, entry: Entry[BudgetExceeded]) -> None:
    run.unit(entry.data.task)


# The rule for each kind of entry; None if level 4 has no rule for it.
RULES: dict[str, Callable[[CheckedRun, Entry[Any]], None] | None] = {
    "run.opened": None,
    "run.paused": end_rules.run_paused,
    "run.resumed": end_rules.run_resumed,
    "run.repaired": None,
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
    "budget.stopped": None,
    "budget.exceeded": _budget_exceeded,
    "answer.given": end_rules.answer_given,
    "body.redacted": None,
}


class SemanticsChecker:
    """Checks the entries of one run."""

    def __init__(self, plan: WavePlan, bodies: BodyReader) -> None:
        self._run = CheckedRun(plan, bodies)

    def check(self, entry: Entry[Any]) -> None:
        """Applies an entry to the run. Raises a Violation if no run of the plan can have it at this point."""
        kind = entry.kind
        if self._run.is_paused and kind not in _ALLOWED_WHILE_PAUSED and not kind.startswith(USER_PREFIX):
            raise Violation("L424", f"{kind} follows a pause, but the run was not resumed")
        if self._run.orphans and kind in _CALL_STARTS:
            raise Violation("L424", "a call starts before all calls that were open at the resume are recorded as lost")
        rule = RULES.get(kind)
        if rule is not None:
            rule(self._run, entry)
