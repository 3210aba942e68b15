"""Describes entries: one table, with one short sentence per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.read_entry import ReadEntry, get_amount, get_object, get_objects, get_str
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip, short_digest, time_text
from forum_runner.report.budget_text import excess_text, stop_text, usage_text
from forum_runner.report.run_context import RunContext
from forum_runner.wave_plan.planned_task import Check

EDITED = "instruction edited"
# The kinds of entries that `forum import` writes for the records of another program.
_IMPORT_PREFIX = "x-import-"
_ACTOR_NAMES = ("actor", "speaker", "agent", "service")
_SUBJECT_NAMES = ("kind", "type", "outcome", "name", "session")
_MAX_LABEL = 80
_MAX_LINE = 400


@dataclass(frozen=True, slots=True)
class _EntryView:
    """An entry, the history of its task up to the entry, and the context of its run."""

    entry: ReadEntry
    task: TaskHistory | None
    context: RunContext

    @property
    def data(self) -> Mapping[str, Any]:
        return self.entry.data

    def label(self, name: str, data: Mapping[str, Any] | None = None) -> str:
        return clip(get_str(self.data if data is None else data, name) or "?", _MAX_LABEL)

    def number(self, name: str) -> int:
        return get_amount(self.data, name)

    @property
    def attempt(self) -> str:
        return f"attempt {self.number('attempt'):,}"

    @property
    def check(self) -> str:
        """The attempt and the number of the check: `attempt 1, check 2 of 3`."""
        checks = self._checks
        return f"{self.attempt}, check {self.number('check') + 1:,}{f' of {len(checks):,}' if checks else ''}"

    @property
    def judge(self) -> str:
        """Who checks: the name of the agent if it is known, or `an agent`, `a command` or `a schema`.

        A verdict does not name its agent, but the plan does.
        """
        checks, number = self._checks, self.number("check")
        name = get_str(self.data, "agent") or (checks[number].agent if number < len(checks) else None)
        if name is not None:
            return clip(name, _MAX_LABEL)
        return f"{'an' if self.data.get('by') == 'agent' else 'a'} {self.label('by')}"

    @property
    def _checks(self) -> Sequence[Check]:
        planned = self.context.planned_task(self.entry.task)
        return planned.checks if planned is not None else ()

    @property
    def implementation(self) -> str:
        implementation = get_object(self.data, "implementation")
        return f"{self.label('name', implementation)} {self.label('version', implementation)}"

    def body(self, name: str) -> str:
        """The size and digest of a body: ` (312 bytes, d29a1c0a1f2a)`, or nothing if the entry has no such body."""
        body = get_object(self.entry.bodies, name)
        if not body:
            return ""
        salted = "salted, " if body.get("salted") is True else ""
        return f" ({counted(get_amount(body, 'bytes'), 'byte')}, {salted}{short_digest(get_str(body, 'digest') or '')})"


def entry_text(entry: ReadEntry, task: TaskHistory | None = None, context: RunContext | None = None) -> str:
    """Describes an entry in one line. `task` and `context` add details. Kinds without a sentence are shown as JSON."""
    describe = _imported_record if entry.kind.startswith(_IMPORT_PREFIX) else _SENTENCES.get(entry.kind)
    if describe is None:
        return clip(orjson.dumps(entry.data).decode()) if entry.data else ""
    return clip(describe(_EntryView(entry, task, context or RunContext())), _MAX_LINE)


def agent_text(agent: str | None, adapter: str | None, tier: str | None) -> str:
    """The agent, its adapter and its tier: `writer via small (cheap)`."""
    via = f" via {clip(adapter, _MAX_LABEL)}" if adapter else ""
    return f"{clip(agent or '', _MAX_LABEL)}{via}{f' ({clip(tier, _MAX_LABEL)})' if tier else ''}"


def failure_text(entry: ReadEntry) -> str:
    """The kind of a failure: `timeout`, `exit_status (exit 3)`, `check 2 failed`, `lost`."""
    error = get_str(entry.data, "error")
    if entry.kind.startswith("verdict."):
        verdict = "lost" if entry.kind == "verdict.lost" else get_str(entry.data, "verdict") or "?"
        outcome = error or {"fail": "failed"}.get(verdict, verdict)
        return f"check {get_amount(entry.data, 'check') + 1:,} {clip(outcome)}"
    if entry.kind == "task.lost":
        return "lost"
    if entry.kind == "task.ended":
        return clip(get_str(entry.data, "reason") or "?")
    status = entry.data.get("exit_status")
    exit_text = f" (exit {status})" if type(status) is int and status else ""
    return clip(error or get_str(entry.data, "status") or "?") + exit_text


def _run_opened(view: _EntryView) -> str:
    plan, imported = get_str(view.data, "wave_plan"), get_object(view.data, "imported")
    origin = get_str(get_object(view.data, "from"), "run")
    plan_text = f"plan {short_digest(plan)}" if plan else "no plan"
    words = [f"opened by {view.implementation}", f"mode {view.label('mode')}", plan_text]
    if imported:
        records = counted(get_amount(imported, "records"), "record")
        words.append(f"{records} from {view.label('format', imported)} (hashes: {view.label('check', imported)})")
    return _comma_separated(*words, f"from run {origin}" if origin else "")


def _run_repaired(view: _EntryView) -> str:
    torn = [
        f"{counted(get_amount(item, 'bytes'), 'byte')} of {get_str(item, 'file')}"
        for item in get_objects(view.data, "torn")
    ]
    return f"repaired: set aside {', '.join(torn)}"


def _run_sealed(view: _EntryView) -> str:
    counts, totals = get_object(view.data, "counts"), get_object(view.data, "totals")
    tasks = ", ".join(f"{get_amount(counts, state):,} {state}" for state in counts if get_amount(counts, state))
    calls = get_amount(totals, "calls")
    finished = f"finished: {view.label('status')}{f' ({tasks})' if tasks else ''}"
    return _comma_separated(finished, counted(calls, "call") if calls else "", usage_text(totals))


def _wave_opened(view: _EntryView) -> str:
    number, waves = view.number("wave"), view.context.waves
    size = f" of {len(waves):,}: {counted(len(waves[number]), 'task')}" if number < len(waves) else ""
    return f"wave {number + 1:,}{size}"


def _task_started(view: _EntryView) -> str:
    who = agent_text(get_str(view.data, "agent"), get_str(view.data, "adapter"), get_str(view.data, "tier"))
    failure = view.task.failure if view.task is not None and view.number("attempt") > 1 else None
    retry = f"retry after: {failure_text(failure)}" if failure is not None else ""
    return _comma_separated(f"{view.attempt} by {who}", retry)


def _task_finished(view: _EntryView) -> str:
    outcome = f"error {failure_text(view.entry)}" if "error" in view.data else view.label("status")
    estimated = " (not measured)" if view.data.get("measured") is False else ""
    return _comma_separated(f"{view.attempt}: {outcome}", usage_text(get_object(view.data, "usage"))) + estimated


def _task_reused(view: _EntryView) -> str:
    cached = " (cache)" if view.data.get("source") == "cache" else ""
    return f"reused from run {view.label('run')}, seq {view.number('seq'):,}{cached}"


def _task_ended(view: _EntryView) -> str:
    reason = f" ({view.label('reason')})" if "reason" in view.data else ""
    ended = f"{view.label('state')}{reason}"
    if view.task is None:
        return ended
    attempts = f"{view.task.attempts:,} attempts" if view.task.attempts > 1 else ""
    return _comma_separated(ended, attempts, usage_text(view.task.usage))


def _context_cut(view: _EntryView) -> str:
    return f"truncated {view.label('as')} to {view.number('kept_bytes'):,} of {view.number('bytes'):,} bytes"


def _gate_opened(view: _EntryView) -> str:
    planned, deadline = view.context.planned_task(view.entry.task), get_str(view.data, "deadline")
    gate = planned.gate if planned is not None else None
    then = f", then {gate.on_deadline}" if gate is not None else ""
    until = f" until {time_text(deadline)}{then}" if deadline else ""
    if gate is None:
        return f"waiting for a decision{until}{view.body('displayed')}"
    question = view.context.question_of(gate)
    # Values that the run fills in are not in the entry: `forum gate list` shows the full question.
    return f"waiting for a decision{until}" + ("" if "${{" in question else f": {clip(question)}")


def _gate_decided(view: _EntryView) -> str:
    is_claim = view.data.get("by") == "person" and view.data.get("authenticated") is not True
    decided = f"{view.label('decision')} by {view.label('by')}{' (not authenticated)' if is_claim else ''}"
    return _comma_separated(decided, EDITED if "edited" in view.entry.bodies else "")


def _verdict_given(view: _EntryView) -> str:
    error = get_str(view.data, "error")
    verdict = f"no verdict ({error})" if view.data.get("verdict") == "none" else view.label("verdict")
    return _comma_separated(f"{view.check} by {view.judge}: {verdict}", usage_text(get_object(view.data, "usage")))


def _imported_record(view: _EntryView) -> str:
    """The time, actor, subject, faults and usage of an imported record. Each source has its own names for them."""
    at, fault = get_str(view.data, "time"), get_str(view.data, "fault")
    actor, subject = _first_text(view.data, _ACTOR_NAMES), _first_text(view.data, _SUBJECT_NAMES)
    words = [f"at {time_text(at)}" if at else "", actor, subject, "error" if view.data.get("status") == "error" else ""]
    record = " ".join(word for word in [*words, f"({fault})" if fault else ""] if word)
    return _comma_separated(record, usage_text(view.data))


def _first_text(data: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((found for name in names if (found := get_str(data, name))), "")


def _comma_separated(*words: str) -> str:
    return ", ".join(word for word in words if word)


_SENTENCES: dict[str, Callable[[_EntryView], str]] = {
    "run.opened": _run_opened,
    "run.paused": lambda view: f"paused ({view.label('reason')})",
    "run.resumed": lambda view: f"resumed by {view.implementation}",
    "run.repaired": _run_repaired,
    "run.sealed": _run_sealed,
    "wave.opened": _wave_opened,
    "route.decided": lambda view: f"routed to {view.label('agent')} (by {view.label('by')})",
    "task.expanded": lambda view: f"expanded into {counted(view.number('instances'), 'instance')}",
    "task.started": _task_started,
    "task.finished": _task_finished,
    "task.lost": lambda view: f"{view.attempt}: lost (outcome unknown)",
    "task.reused": _task_reused,
    "task.ended": _task_ended,
    "edge.delivered": lambda view: f"received {view.label('as')}{view.body('value')}",
    "context.cut": _context_cut,
    "gate.opened": _gate_opened,
    "gate.decided": _gate_decided,
    "verdict.asked": lambda view: f"{view.check} by {view.judge}",
    "verdict.given": _verdict_given,
    "verdict.lost": lambda view: f"{view.check}: lost (outcome unknown)",
    "escalation.raised": lambda view: f"escalated from {view.label('from')} to {view.label('to')}",
    "budget.stopped": lambda view: f"stopped by the {stop_text(view.data)}",
    "budget.exceeded": lambda view: excess_text(view.data),
    "answer.given": lambda view: f"wrote output `{view.label('output')}`{view.body('value')}",
    "body.redacted": lambda view: f"redacted {view.label('body')} {short_digest(view.label('digest'))}",
}
