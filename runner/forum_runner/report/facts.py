"""What an entry tells, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from forum_runner.ledger.read_entry import ReadEntry, amount, part, parts, text
from forum_runner.report import counted
from forum_runner.report.amounts import moment, money, short, shown, span
from forum_runner.report.budget_words import tells_need

_Facts = Callable[[ReadEntry], list[str]]
# The kinds of entries that `forum import` makes of records.
_IMPORTED = "x-import-"
EDITED = "instruction edited"
_WHAT = ("kind", "type", "outcome", "name", "session")


def facts(entry: ReadEntry) -> str:
    """One line; for a kind that is not known, and for a user's own, the data as they stand."""
    tell = _imported_record if entry.kind.startswith(_IMPORTED) else _TELLERS.get(entry.kind)
    if tell is None:
        return shown(orjson.dumps(entry.data).decode()) if entry.data else ""
    return shown(" ".join(word for word in tell(entry) if word))


def usage_words(usage: Mapping[str, Any]) -> list[str]:
    """What a call took: `412 tokens $0.0023 2.2s`. What it did not take is left out."""
    tokens = amount(usage, "input_tokens") + amount(usage, "output_tokens")
    spent = amount(usage, "micro_usd")
    return [
        counted(tokens, "token") if tokens else "",
        money(spent) if spent else "",
        span(amount(usage, "wall_ms")) if "wall_ms" in usage else "",
    ]


def body_words(entry: ReadEntry, name: str) -> list[str]:
    body = part(entry.bodies, name)
    salted = "salted" if body.get("salted") is True else ""
    return [f"{amount(body, 'bytes'):,} bytes", salted, short(text(body, "digest") or "")] if body else []


def _opened(entry: ReadEntry) -> list[str]:
    plan, origin = text(entry.data, "wave_plan"), text(part(entry.data, "from"), "run")
    words = [_word(entry, "mode"), *_imported(entry), *_implementation(entry)]
    return [*words, f"plan {short(plan)}" if plan else "without a plan", f"from {origin}" if origin else ""]


def _imported(entry: ReadEntry) -> list[str]:
    """Of what an imported ledger was made."""
    imported = part(entry.data, "imported")
    if not imported:
        return []
    records, check = counted(amount(imported, "records"), "record"), text(imported, "check") or "?"
    return [f"from {text(imported, 'format') or '?'} ({records}, its own hashes: {check}) by"]


def _imported_record(entry: ReadEntry) -> list[str]:
    """When, who and what, by the names that the sources have for these."""
    when = text(entry.data, "time")
    named = [_first(entry, "actor", "speaker", "agent", "service"), _first(entry, *_WHAT)]
    error = "error" if text(entry.data, "status") == "error" else ""
    fault = _word(entry, "fault")
    words = [f"at {moment(when)}" if when else "", *named, error, f"({fault})" if fault else ""]
    return words + usage_words(entry.data)


def _first(entry: ReadEntry, *names: str) -> str:
    return next((found for name in names if (found := text(entry.data, name))), "")


def _implementation(entry: ReadEntry) -> list[str]:
    implementation = part(entry.data, "implementation")
    return [text(implementation, "name") or "", text(implementation, "version") or ""]


def _repaired(entry: ReadEntry) -> list[str]:
    torn = [f"{amount(item, 'bytes'):,} bytes of {text(item, 'file')}" for item in parts(entry.data, "torn")]
    return [", ".join(torn), "set aside"]


def _sealed(entry: ReadEntry) -> list[str]:
    counts, totals = part(entry.data, "counts"), part(entry.data, "totals")
    tasks = ", ".join(f"{amount(counts, state):,} {state}" for state in counts if amount(counts, state))
    calls = amount(totals, "calls")
    return [
        _word(entry, "status"),
        f"({tasks})" if tasks else "",
        counted(calls, "call") if calls else "",
        *usage_words(totals),
    ]


def _started(entry: ReadEntry) -> list[str]:
    return [_attempt(entry), *_performer(entry)]


def _performer(entry: ReadEntry) -> list[str]:
    tier, adapter = text(entry.data, "tier"), text(entry.data, "adapter")
    return [_word(entry, "agent"), "/".join(word for word in (tier, adapter) if word)]


def _finished(entry: ReadEntry) -> list[str]:
    status = entry.data.get("exit_status")
    exited = f"exit {status}" if type(status) is int and status != 0 else ""
    guessed = "(not measured)" if entry.data.get("measured") is False else ""
    return [_word(entry, "status"), _word(entry, "error"), exited, *usage_words(part(entry.data, "usage")), guessed]


def _reused(entry: ReadEntry) -> list[str]:
    return [f"by {_word(entry, 'ground')}", f"from {_word(entry, 'run')}", f"seq {amount(entry.data, 'seq')}"]


def _ended(entry: ReadEntry) -> list[str]:
    reason = _word(entry, "reason")
    return [_word(entry, "state"), f"({reason})" if reason else ""]


def _cut(entry: ReadEntry) -> list[str]:
    kept, whole = amount(entry.data, "kept_bytes"), amount(entry.data, "bytes")
    return [_word(entry, "as"), f"{kept:,} of {whole:,} bytes kept"]


def _gate_opened(entry: ReadEntry) -> list[str]:
    deadline = text(entry.data, "deadline")
    return [f"until {deadline}" if deadline else "", *body_words(entry, "shown")]


def _gate_decided(entry: ReadEntry) -> list[str]:
    is_known = entry.data.get("authenticated") is True or entry.data.get("by") == "deadline"
    words = [_word(entry, "decision"), f"by {_word(entry, 'by')}", "" if is_known else "(not authenticated)"]
    told = " ".join(word for word in words if word)
    return [f"{told}, {EDITED}" if "edited" in entry.bodies else told]


def _asked(entry: ReadEntry) -> list[str]:
    return [*_check(entry), f"by {_word(entry, 'by')}", *_performer(entry)]


def _given(entry: ReadEntry) -> list[str]:
    words = [*_check(entry), _word(entry, "verdict"), f"by {_word(entry, 'by')}", _word(entry, "error")]
    return words + usage_words(part(entry.data, "usage"))


def _check(entry: ReadEntry) -> list[str]:
    return [_attempt(entry), f"check {amount(entry.data, 'check')}"]


def _attempt(entry: ReadEntry) -> str:
    return f"attempt {amount(entry.data, 'attempt')}"


def _budget_stopped(entry: ReadEntry) -> list[str]:
    data = entry.data
    used = f"{amount(data, 'used'):,} of {amount(data, 'limit'):,} used"
    needed = f", {amount(data, 'needed'):,} needed" if tells_need(data) else ""
    return [_word(entry, "scope"), _word(entry, "name"), f"{_word(entry, 'amount')}: {used}{needed}"]


def _budget_exceeded(entry: ReadEntry) -> list[str]:
    used, reserved = amount(entry.data, "used"), amount(entry.data, "reserved")
    return [_attempt(entry), f"{_word(entry, 'amount')}: {used:,} used, {reserved:,} reserved"]


def _word(entry: ReadEntry, name: str) -> str:
    return text(entry.data, name) or ""


_TELLERS: dict[str, _Facts] = {
    "run.opened": _opened,
    "run.paused": lambda entry: [_word(entry, "reason")],
    "run.resumed": _implementation,
    "run.repaired": _repaired,
    "run.sealed": _sealed,
    "wave.opened": lambda entry: [f"wave {amount(entry.data, 'wave')}"],
    "route.decided": lambda entry: [_word(entry, "agent"), f"by {_word(entry, 'by')}"],
    "task.expanded": lambda entry: [counted(amount(entry.data, "instances"), "instance")],
    "task.started": _started,
    "task.finished": _finished,
    "task.lost": lambda entry: [_attempt(entry)],
    "task.reused": _reused,
    "task.ended": _ended,
    "edge.delivered": lambda entry: [_word(entry, "as"), *body_words(entry, "value")],
    "context.cut": _cut,
    "gate.opened": _gate_opened,
    "gate.decided": _gate_decided,
    "verdict.asked": _asked,
    "verdict.given": _given,
    "verdict.lost": _check,
    "escalation.raised": lambda entry: [_word(entry, "from"), "->", _word(entry, "to")],
    "budget.stopped": _budget_stopped,
    "budget.exceeded": _budget_exceeded,
    "answer.given": lambda entry: [_word(entry, "output"), *body_words(entry, "value")],
    "body.redacted": lambda entry: [_word(entry, "body"), short(_word(entry, "digest"))],
}
