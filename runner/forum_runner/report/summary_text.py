"""What happened in a run, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from forum_runner.ledger.read_entry import ReadEntry, amount, is_import, part, parts, text
from forum_runner.ledger.summary import Summary, TaskStory
from forum_runner.ledger.usage import Usage
from forum_runner.report import counted
from forum_runner.report.amounts import between, moment, money, shown, span
from forum_runner.report.cut_words import CUT_TITLE, cut_lines
from forum_runner.report.decision_reason import Reason
from forum_runner.report.facts import EDITED, facts
from forum_runner.report.paint import STATE_COLORS, painted
from forum_runner.report.table import table

_MAX_LISTED = 50


def render_summary(
    summary: Summary,
    run: str,
    why: Sequence[str] = (),
    reasons: Mapping[str, Reason] | None = None,
    *,
    color: bool,
) -> Iterator[str]:
    """`why` is why tasks did not do; `reasons` are why people decided as they did, by the task."""
    yield from _header(summary, color)
    yield from _damage(summary, color)
    if summary.tasks:
        yield ""
        yield from _tasks(summary, color)
    for title, lines in (
        ("why", list(why)),
        (CUT_TITLE, cut_lines(summary)),
        ("gates", [line for story in summary.tasks.values() for line in _gate(story, reasons or {})]),
        ("escalations", [line for story in summary.tasks.values() for line in _escalations(story)]),
        ("budget", [f"{entry.kind.removeprefix('budget.')}: {_named(entry)}" for entry in summary.budget]),
        ("redactions", [facts(entry) for entry in summary.redactions]),
        ("outputs", list(_outputs(summary))),
    ):
        yield from _section(title, lines)
    yield ""
    yield f"As the ledger tells it; whether it holds: forum verify {shown(run)}"


def ending(summary: Summary) -> str:
    """How the run ended, or that nobody knows."""
    if summary.last is None:
        return "nothing: the ledger has no entries"
    if summary.is_sealed:
        status = text(summary.last.data, "status") or "sealed"
        if summary.opened is not None and is_import(summary.opened):
            # The seal's status is that of the import: how the work ended is for its records to say.
            status = "imported"
        again = summary.kinds["run.sealed"] - 1
        return shown(status) + (f" (sealed again {counted(again, 'time')})" if again else "")
    if summary.seal is not None:
        return "a seal, but entries follow it, and no further seal"
    if summary.paused is not None:
        return f"paused ({shown(summary.paused)})"
    return "no seal: it still runs, or was cut short"


def _header(summary: Summary, color: bool) -> Iterator[str]:
    opened, first, last = summary.opened, summary.first, summary.ended
    if first is not None:
        yield f"run       {shown(first.run)}"
    if opened is not None:
        implementation, origin = part(opened.data, "implementation"), text(part(opened.data, "from"), "run")
        program = f"{text(implementation, 'name') or '?'} {text(implementation, 'version') or '?'}"
        yield f"plan      {shown(text(opened.data, 'wave_plan') or 'none')}"
        yield f"mode      {shown(text(opened.data, 'mode') or '?')}, by {shown(program)}"
        if origin is not None:
            yield f"from      {shown(origin)}"
        yield from _imported(opened)
    if first is not None and last is not None:
        took = between(first.at, last.at)
        yield f"when      {moment(first.at)} to {moment(last.at)}{f', {span(took)}' if took is not None else ''}"
    told = [counted(summary.entries, "entry").replace("entrys", "entries")]
    told += [
        counted(summary.kinds[f"run.{kind}"], noun) for kind, noun in _INTERRUPTIONS if summary.kinds[f"run.{kind}"]
    ]
    own = sum(number for kind, number in summary.kinds.items() if kind.startswith("x-"))
    yield f"record    {', '.join(told)}{f', {own:,} of them its own (x-)' if own else ''}"
    if summary.totals.calls:
        yield f"spent     {_listed(summary.totals)}"
    end = ending(summary)
    yield f"ended     {painted(end, color, fg=STATE_COLORS.get(end.partition(' ')[0], 'yellow'), bold=True)}"


def _imported(opened: ReadEntry) -> Iterator[str]:
    """What an imported ledger was made from; what came before the import nobody vouches for."""
    imported = part(opened.data, "imported")
    for file in parts(imported, "files"):
        name, digest = text(file, "name") or "?", text(file, "digest") or "?"
        yield f"source    {shown(name, 80)}, {amount(file, 'bytes'):,} bytes, {shown(digest)}"
    if imported:
        format_, check = text(imported, "format") or "?", text(imported, "check") or "?"
        records = counted(amount(imported, "records"), "record")
        yield f"imported  {records} of {shown(format_)}, its own hashes: {shown(check)}; only as good as its source"


def _listed(totals: Usage) -> str:
    cached = f" ({totals.cached_input_tokens:,} cached)" if totals.cached_input_tokens else ""
    words = [counted(totals.calls, "call"), f"{counted(totals.tokens, 'token')}{cached}", money(totals.micro_usd)]
    return ", ".join([*words, f"{span(totals.wall_ms)} of work"])


_INTERRUPTIONS = (("paused", "pause"), ("resumed", "resumption"), ("repaired", "repair"))


def _damage(summary: Summary, color: bool) -> Iterator[str]:
    if summary.unreadable:
        lines = "1 line is no entry" if summary.unreadable == 1 else f"{summary.unreadable:,} lines are no entries"
        yield painted(f"damaged   {lines}, the first at seq {summary.first_unreadable:,}", color, fg="red")
    if summary.torn_bytes:
        yield painted(f"torn      {counted(summary.torn_bytes, 'byte')} after the last line", color, fg="red")


def _tasks(summary: Summary, color: bool) -> list[str]:
    heading = ("task", "state", "reason", "attempts", "agent", "tokens", "money", "time", "verdicts")
    rows = [heading, *(_row(story) for story in summary.tasks.values())]
    attempts = sum(story.attempts for story in summary.tasks.values())
    rows.append(("total", "", "", _number(attempts), "", *_spent(summary.totals), ""))
    return table(rows, right=(3, 5, 6, 7), color=color)


def _row(story: TaskStory) -> tuple[str, ...]:
    performer = [story.agent or "", "/".join(word for word in (story.tier, story.adapter) if word)]
    if story.reused_from is not None:
        performer = [f"reused from {story.reused_from}"]
    elif story.instances is not None:
        performer = [counted(story.instances, "instance")]
    verdicts = ", ".join(f"{number:,} {verdict}" for verdict, number in story.verdicts.items())
    agent = shown(" ".join(word for word in performer if word), 60)
    words = (shown(story.id, 80), shown(story.state, 20), shown(story.reason or "", 20), _number(story.attempts), agent)
    return (*words, *_spent(story.usage), shown(verdicts))


def _spent(usage: Usage) -> tuple[str, str, str]:
    return (
        _number(usage.tokens),
        money(usage.micro_usd) if usage.micro_usd else "",
        span(usage.wall_ms) if usage.wall_ms else "",
    )


def _number(number: int) -> str:
    return f"{number:,}" if number else ""


def _gate(story: TaskStory, reasons: Mapping[str, Reason]) -> Iterator[str]:
    if story.gate is not None and story.gate.decision is None:
        yield f"{shown(story.id)}: open"
    elif story.gate is not None:
        gate = story.gate
        is_claim = gate.by == "person" and not gate.authenticated
        decision = f"{gate.decision} by {gate.by} ({gate.actor}{', a claim' if is_claim else ''})"
        edited = f", {EDITED}" if gate.is_edited else ""
        reason = f", {reasons.get(story.id, Reason()).words}" if gate.reason is not None else ""
        yield f"{shown(story.id)}: {shown(decision)}{edited}{reason}"


def _escalations(story: TaskStory) -> Iterator[str]:
    yield from (shown(f"{story.id}: {lower} -> {upper}") for lower, upper in story.escalations)


def _named(entry: ReadEntry) -> str:
    return f"{shown(entry.task)} {facts(entry)}" if entry.task is not None else facts(entry)


def _outputs(summary: Summary) -> Iterator[str]:
    redacted = {text(entry.data, "digest") for entry in summary.redactions}
    for name, body in summary.answers.items():
        digest = text(body, "digest")
        words = [f"{name}:", digest or "", f"{amount(body, 'bytes'):,} bytes", text(body, "type") or ""]
        marks = ["salted" if body.get("salted") is True else "", "redacted" if digest in redacted else ""]
        yield shown(" ".join(word for word in [*words, *marks] if word), 500)


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  {line}" for line in lines[:_MAX_LISTED])
        if len(lines) > _MAX_LISTED:
            yield f"  ... and {len(lines) - _MAX_LISTED:,} more"
