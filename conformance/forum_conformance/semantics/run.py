"""Check the entries of a ledger against its wave plan, up to the first violation of a rule."""

from collections.abc import Callable, Mapping

from forum_conformance.bodies import Store
from forum_conformance.entry import Entry
from forum_conformance.finding import Finding
from forum_conformance.semantics import attempts, delivery, endings, gates, routes, start_conditions, verdicts
from forum_conformance.semantics.names import require_names
from forum_conformance.semantics.plan import read_plan
from forum_conformance.semantics.state import Run
from forum_conformance.semantics.violation import Violation, require

_KINDS_WHILE_PAUSED = frozenset({"gate.decided", "body.redacted", "run.repaired", "run.resumed"})
_CALL_KINDS = frozenset({"task.started", "verdict.asked"})


def _pause(run: Run, _: Entry) -> None:
    run.is_paused = True


def _resume(run: Run, _: Entry) -> None:
    run.is_paused = False
    for call in run.open_calls:
        call.is_orphan = True


# Other kinds have no rules, except that the names they use must exist.
_RULES: Mapping[str, Callable[[Run, Entry], None]] = {
    "run.paused": _pause,
    "run.resumed": _resume,
    "run.sealed": endings.run_sealed,
    "wave.opened": start_conditions.wave_opened,
    "route.decided": routes.route_decided,
    "task.expanded": delivery.task_expanded,
    "task.started": attempts.task_started,
    "task.finished": attempts.task_finished,
    "task.lost": attempts.task_lost,
    "task.reused": attempts.task_reused,
    "task.ended": endings.task_ended,
    "edge.delivered": delivery.edge_delivered,
    "gate.opened": gates.gate_opened,
    "gate.decided": gates.gate_decided,
    "verdict.asked": verdicts.verdict_asked,
    "verdict.given": verdicts.verdict_given,
    "verdict.lost": verdicts.verdict_lost,
    "escalation.raised": routes.escalation_raised,
    "answer.given": delivery.answer_given,
}


class SemanticsCheck:
    """Receives every entry in order, starting with `run.opened`, until there is a finding."""

    def __init__(self, store: Store, wave_plan: bytes) -> None:
        self._store = store
        self._wave_plan = wave_plan
        self._run: Run | None = None

    def check(self, entry: Entry) -> Finding | None:
        """The finding for this entry; None if the entry is valid."""
        try:
            if self._run is None:
                self._run = Run(read_plan(self._wave_plan, entry), self._store)
            else:
                _check_entry(self._run, entry)
        except Violation as violation:
            return Finding(violation.code, entry["seq"], str(violation))
        return None


def _check_entry(run: Run, entry: Entry) -> None:
    _require_allowed(run, entry["kind"])
    require_names(run, entry)
    rule = _RULES.get(entry["kind"])
    if rule:
        rule(run, entry)


def _require_allowed(run: Run, kind: str) -> None:
    """Check that a paused or resumed run allows the kind (LEDGER-SEMANTICS-003)."""
    is_allowed = not run.is_paused or kind in _KINDS_WHILE_PAUSED or kind.startswith("x-")
    require(is_allowed, "L424", f"{kind} is not allowed while the run is paused")
    require(kind != "run.paused" or not run.open_calls, "L424", "the run is paused while a call is open")
    has_orphan = kind in _CALL_KINDS and any(call.is_orphan for call in run.open_calls)
    require(not has_orphan, "L424", f"{kind} is not allowed before all orphans are recorded as lost")
