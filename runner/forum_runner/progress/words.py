"""Entries as they are told while a run goes on: what a reader of a log wants to know, each in a line or two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forum_runner.ledger.read_entry import ReadEntry, amount, part, text
from forum_runner.ledger.usage import Usage
from forum_runner.progress.tally import Tally, Unit, check_words
from forum_runner.report import counted
from forum_runner.report.amounts import moment, money, shown, span
from forum_runner.report.budget_words import excess_words, stop_words
from forum_runner.report.facts import facts
from forum_runner.report.run_commands import command_line, question_of, run_argument

_MAX_NAME = 80
_MAX_LABEL = 40
STOPPING = "stopping: what is under way is being ended; interrupt once more, and nothing is waited for"


class Words:
    """Knows the run that the entries are of. An entry comes after the tally has taken it in, with its unit."""

    def __init__(self, run: str, directory: Path, tally: Tally) -> None:
        self.run = run
        self.directory = directory
        self.tally = tally

    def opening(self) -> list[str]:
        tally = self.tally
        size = f"{counted(len(tally.tasks), 'task')} in {counted(len(tally.waves), 'wave')}"
        return [f"run {shown(self.run)} in {shown(str(self.directory), 4096)}", f"{shown(tally.name)}: {size}"]

    def told(self, kind: str, data: Mapping[str, Any], unit: Unit | None) -> list[str]:
        """The lines for an entry; none for what only a machine wants to know."""
        if unit is not None:
            tell = _UNIT_TELLERS.get(kind)
            said = tell(self, unit, data) if tell is not None else ""
            lines = [f"{shown(unit.task, _MAX_NAME)}: {said}"] if said else []
            return [*lines, self.how_to_decide()] if kind == "gate.opened" else lines
        speak = _RUN_TELLERS.get(kind)
        return [speak(self, data)] if speak is not None else []

    def how_to_decide(self) -> str:
        """The run is at work, so a decision would be refused; to look is not."""
        look = command_line("gate", "list", run_argument(self.run, self.directory))
        return f"  to be decided: {look}"


def spent_words(usage: Usage) -> list[str]:
    """`900ms`, `160 tokens`, `$0.0065`: what is 0 is left out."""
    told = [span(usage.wall_ms) if usage.wall_ms else "", counted(usage.tokens, "token") if usage.tokens else ""]
    return [word for word in [*told, money(usage.micro_usd) if usage.micro_usd else ""] if word]


def _spent(data: Mapping[str, Any]) -> list[str]:
    usage = Usage()
    usage.charge(part(data, "usage"))
    return spent_words(usage)


def _run_facts(before: str, kind: str) -> Callable[[Words, Mapping[str, Any]], str]:
    return lambda _, data: f"{before} {facts(ReadEntry('', 0, '', '', kind, [], data, {}))}"


def _wave(words: Words, data: Mapping[str, Any]) -> str:
    number, waves = amount(data, "wave"), words.tally.waves
    size = len(waves[number]) if number < len(waves) else 0
    return f"wave {number + 1:,} of {len(waves):,}: {counted(size, 'task')}"


def _stopped(_: Words, data: Mapping[str, Any]) -> str:
    return f"stopped by {stop_words(data)}"


def _exceeded(_: Words, data: Mapping[str, Any]) -> str:
    return f"{_label(data, 'task')}: {excess_words(data)}"


def _cut(_: Words, data: Mapping[str, Any]) -> str:
    kept, whole = amount(data, "kept_bytes"), amount(data, "bytes")
    return f"{_label(data, 'task')}: its prompt holds {kept:,} of {whole:,} bytes of {_label(data, 'as')}"


def _routed(_: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    return f"routed to {_label(data, 'agent')} (by {_label(data, 'by')})"


def _started(_: Words, unit: Unit, _data: Mapping[str, Any]) -> str:
    again = f", after {shown(unit.why_again, _MAX_LABEL)}" if unit.attempt > 1 and unit.why_again else ""
    return f"attempt {unit.attempt:,} by {performer(unit)}{again}"


def performer(unit: Unit) -> str:
    """`writer via small (cheap)`."""
    adapter, tier = shown(unit.adapter, _MAX_LABEL), shown(unit.tier, _MAX_LABEL)
    via = f" via {adapter}" if adapter else ""
    return f"{shown(unit.agent, _MAX_LABEL)}{via}{f' ({tier})' if tier else ''}"


def _finished(_: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    """Of an attempt that went well the end of the task, or its checks, tell more."""
    if data.get("status") == "ok":
        return ""
    exit_status = data.get("exit_status")
    exited = f" (exit {exit_status})" if type(exit_status) is int and exit_status else ""
    what = f"error {_label(data, 'error')}{exited}" if "error" in data else _label(data, "status")
    return _listed(f"attempt {amount(data, 'attempt'):,}: {what}", *_spent(data))


def _lost(_: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    return f"attempt {amount(data, 'attempt'):,}: lost, nobody knows how it ended"


def _reused(_: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    source = "the cache, " if data.get("ground") == "cache" else ""
    return f"reused from {source}run {_label(data, 'run')}, seq {amount(data, 'seq'):,}"


def _ended(_: Words, unit: Unit, data: Mapping[str, Any]) -> str:
    reason = f" ({_label(data, 'reason')})" if "reason" in data else ""
    attempts = f"{unit.attempt:,} attempts" if unit.attempt > 1 else ""
    return _listed(f"{_label(data, 'state')}{reason}", attempts, *spent_words(unit.usage))


def _gate_opened(words: Words, unit: Unit, data: Mapping[str, Any]) -> str:
    gate = words.tally.form_of(unit.task).get("gate", {})
    deadline = text(data, "deadline")
    otherwise = f" until {moment(deadline)}, then {shown(text(gate, 'on_deadline') or '?')}" if deadline else ""
    question = question_of(gate, words.run)
    # What a run brings into a question is not in the entry; `forum gate list` shows it.
    return (
        f"waits for a decision{otherwise}"
        if "${{" in question
        else f"waits for a decision{otherwise}: {shown(question)}"
    )


def _gate_decided(_: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    who = "its deadline" if data.get("by") == "deadline" else "a person"
    return f"{_label(data, 'decision')} by {who}"


def _given(words: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    verdict = f"no verdict ({_label(data, 'error')})" if data.get("verdict") == "none" else _label(data, "verdict")
    said = f"{check_words(words.tally, data)} by {_judge(words, data)}: {verdict}"
    return _listed(said, *_spent(data))


def _judge(words: Words, data: Mapping[str, Any]) -> str:
    """An agent by its name, which stands in the plan; a schema or a command as such."""
    checks, number = words.tally.form_of(text(data, "task") or "").get("accept", ()), amount(data, "check")
    name = text(checks[number], "agent") if number < len(checks) else None
    return shown(name, _MAX_LABEL) if name is not None else f"a {_label(data, 'by')}"


def _check_lost(words: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    return f"{check_words(words.tally, data)}: lost, nobody knows how it ended"


def _escalated(_: Words, _unit: Unit, data: Mapping[str, Any]) -> str:
    return f"climbs from {_label(data, 'from')} to {_label(data, 'to')}"


def _listed(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _label(data: Mapping[str, Any], name: str) -> str:
    return shown(text(data, name) or "?", _MAX_NAME)


_RUN_TELLERS: dict[str, Callable[[Words, Mapping[str, Any]], str]] = {
    "run.opened": _run_facts("opened:", "run.opened"),
    "run.paused": lambda _, data: f"paused ({_label(data, 'reason')})",
    "run.resumed": _run_facts("resumed by", "run.resumed"),
    "run.repaired": _run_facts("repaired:", "run.repaired"),
    "run.sealed": _run_facts("ended:", "run.sealed"),
    "wave.opened": _wave,
    "budget.stopped": _stopped,
    "budget.exceeded": _exceeded,
    "context.cut": _cut,
    "answer.given": lambda _, data: f"output {_label(data, 'output')} is there",
}
_UNIT_TELLERS: dict[str, Callable[[Words, Unit, Mapping[str, Any]], str]] = {
    "route.decided": _routed,
    "task.expanded": lambda _, __, data: counted(amount(data, "instances"), "instance"),
    "task.started": _started,
    "task.finished": _finished,
    "task.lost": _lost,
    "task.reused": _reused,
    "task.ended": _ended,
    "gate.opened": _gate_opened,
    "gate.decided": _gate_decided,
    "verdict.given": _given,
    "verdict.lost": _check_lost,
    "escalation.raised": _escalated,
}
