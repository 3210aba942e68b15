"""What a run came to, for a person: printed when `forum run` and `forum resume` end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from forum_runner.finding import visible
from forum_runner.ledger.body import JSON, copy_name
from forum_runner.ledger.layout import OUTPUTS
from forum_runner.ledger.read_entry import amount, part, text
from forum_runner.ledger.summary import Summary, TaskStory
from forum_runner.report import counted, joined
from forum_runner.report.amounts import moment, money, shown, span
from forum_runner.report.budget_words import AMOUNTS, excess_words, quantity, stop_words, used_amount, used_of
from forum_runner.report.cut_words import CUT_TITLE, cut_lines
from forum_runner.report.paint import STATE_COLORS, painted
from forum_runner.report.run_commands import command_line, gate_lines, verify_line
from forum_runner.report.run_result import SEVERITY, RunResult, by_severity
from forum_runner.report.table import table

HEADING = ("task", "state", "reason", "attempts", "agent", "time", "tokens", "cost")
RIGHT = (3, 5, 6, 7)
_MAX_PASSED = 40
_MAX_OTHERS = 200
_MAX_LISTED = 50
_MAX_PREVIEW_LINES = 3
_MAX_PREVIEW = 200
_STATUS_WORDS = {"paused": "paused at a gate", "unfinished": "unfinished, without a seal"}
_COLORS = STATE_COLORS | {"paused": "yellow", "interrupted": "yellow", "unfinished": "yellow"}


def render_result(result: RunResult, *, color: bool = False) -> str:
    lines = [headline(result, color=color)]
    for section in (
        _tasks(result, color),
        _failures(result),
        _section(CUT_TITLE, cut_lines(result.summary)),
        _stops(result.summary),
        _outputs(result),
        _gates(result),
    ):
        told = list(section)
        lines += ["", *told] if told else []
    lines.append("")
    lines += (f"{name:<8}  {words}" for name, words in _facts(result))
    return joined(lines)


def headline(result: RunResult, *, color: bool = False) -> str:
    """`failed (exit 1): 1 failed, 2 passed, in 12.5s`."""
    words = _STATUS_WORDS.get(result.status, shown(result.status))
    status = painted(words, color, fg=_COLORS.get(result.status), bold=True)
    code = f" (exit {result.exit_code})" if result.exit_code else ""
    counts = result.counts
    states = [f"{counts[state]:,} {shown(state)}" for state in (*SEVERITY, "not begun") if counts[state]]
    return f"{status}{code}: {', '.join(states) or 'no tasks'}, in {span(result.active_ms)}"


def spent_words(result: RunResult) -> str:
    """Each amount beside its limit, where the run has one."""
    totals, limits = result.summary.totals, part(part(result.plan, "policy"), "budget")
    words = []
    for name in AMOUNTS:
        used = result.active_ms if name == "wall_ms" else used_amount(totals, name)
        if name in limits:
            words.append(used_of(name, used, amount(limits, name)))
        elif name in ("calls", "tokens") or (name == "micro_usd" and used):
            words.append(quantity(name, used))
    return ", ".join([*words, f"{span(totals.wall_ms)} of work"])


def row(story: TaskStory) -> tuple[str, ...]:
    performer = story.agent or ""
    if story.reused_from is not None:
        performer = "reused"
    elif story.instances is not None:
        performer = counted(story.instances, "instance")
    usage = story.usage
    words = (shown(story.id, 80), shown(story.state, 20), shown(story.reason or "", 20), _number(story.attempts))
    spent = (span(usage.wall_ms) if usage.wall_ms else "", _number(usage.tokens))
    return (*words, shown(performer, 40), *spent, money(usage.micro_usd) if usage.micro_usd else "")


def chosen(stories: Sequence[TaskStory], most_passed: int, most_others: int) -> tuple[list[TaskStory], list[str]]:
    """The stories that are listed, in their order, and how many of which state are left out."""
    ranked = by_severity(stories)
    passed = [story for story in ranked if story.state == "passed"]
    others = [story for story in ranked if story.state != "passed"]
    kept = {story.id for story in [*passed[:most_passed], *others[:most_others]]}
    left: dict[str, int] = {}
    for story in [*others[most_others:], *passed[most_passed:]]:
        left[story.state] = left.get(story.state, 0) + 1
    notes = [f"and {number:,} more {shown(state)}" for state, number in left.items()]
    return [story for story in stories if story.id in kept], notes


def _tasks(result: RunResult, color: bool) -> list[str]:
    stories, notes = chosen(list(result.summary.tasks.values()), _MAX_PASSED, _MAX_OTHERS)
    if not stories:
        return []
    if not_begun := result.counts["not begun"]:
        notes.append(f"and {not_begun:,} not begun")
    return [*table([HEADING, *(row(story) for story in stories)], RIGHT, color=color), *notes]


def _failures(result: RunResult) -> Iterator[str]:
    """Why each task ended otherwise than it should."""
    yield from _section("why", [f"{shown(task, 80)}: {failure}" for task, failure in result.failures.items()])


def _stops(summary: Summary) -> Iterator[str]:
    for entry in summary.budget:
        if entry.kind == "budget.stopped":
            yield f"stopped by {stop_words(entry.data)}"
        else:
            yield f"beyond what was reserved: {shown(entry.task or '?', 80)}, {excess_words(entry.data)}"


def _outputs(result: RunResult) -> Iterator[str]:
    yield from _section("outputs", [line for name in output_names(result) for line in _output(result, name)])


def output_names(result: RunResult) -> list[str]:
    return list({**part(result.plan, "outputs"), **result.summary.answers})


def output_path(result: RunResult, name: str) -> Path:
    return result.directory / OUTPUTS / copy_name(name, text(result.summary.answers[name], "type") or "")


def is_redacted(result: RunResult, name: str) -> bool:
    digest = text(result.summary.answers[name], "digest")
    return any(text(entry.data, "digest") == digest for entry in result.summary.redactions)


def _output(result: RunResult, name: str) -> Iterator[str]:
    body = result.summary.answers.get(name)
    if body is None:
        yield f"{shown(name)}: not given"
    elif is_redacted(result, name):
        yield f"{shown(name)}: redacted"
    else:
        path = output_path(result, name)
        yield f"{shown(name)}: {visible(str(path))} ({counted(amount(body, 'bytes'), 'byte')})"
        # What is sensitive in the record is not to be found in a log.
        if "salted" not in body:
            yield from (f"  {line}" for line in _preview(path, text(body, "type") or "", amount(body, "bytes")))


def _preview(path: Path, type_: str, size: int) -> list[str]:
    """A small text, whole; nothing of any other."""
    if not (type_ == JSON or type_.startswith("text/")) or size > 4 * _MAX_PREVIEW:
        return []
    try:
        told = path.read_bytes()[: 4 * _MAX_PREVIEW].decode().strip()
    except (OSError, UnicodeDecodeError):
        return []
    lines = told.replace("\r\n", "\n").split("\n")
    return [visible(line) for line in lines] if len(told) <= _MAX_PREVIEW and len(lines) <= _MAX_PREVIEW_LINES else []


def _gates(result: RunResult) -> Iterator[str]:
    for gate in result.gates[:_MAX_LISTED]:
        until = f" until {moment(gate.deadline)}, then {shown(gate.on_deadline or '?')}" if gate.deadline else ""
        yield f"{shown(gate.task, 80)} waits for a decision{until}: {shown(gate.question, 500)}"
        yield from (f"  {line}" for line in gate_lines(result.argument, gate.task))
    if len(result.gates) > _MAX_LISTED:
        yield f"and {len(result.gates) - _MAX_LISTED:,} more wait for decisions"


def _facts(result: RunResult) -> Iterator[tuple[str, str]]:
    yield "spent", spent_words(result)
    yield "run", visible(str(result.directory))
    yield "head", result.head
    yield "verify", verify_line(result.directory, result.head)
    if result.can_go_on:
        yield "resume", command_line("resume", result.argument)
    elif result.status not in ("passed", "refused"):
        yield "again", f"{command_line('resume', result.argument, '--failed')}  (a new run; what passed is reused)"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines[:_MAX_OTHERS])
        if len(lines) > _MAX_OTHERS:
            yield f"  and {len(lines) - _MAX_OTHERS:,} more"


def _number(number: int) -> str:
    return f"{number:,}" if number else ""
