"""The history of a run as text, as printed by `forum show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.read_entry import ReadEntry, get_amount, get_object, get_objects, get_str
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip, duration, money, time_text
from forum_runner.report.entry_text import EDITED, entry_text
from forum_runner.report.failures import TaskFailure, failure_lines
from forum_runner.report.paint import STATE_COLORS, painted
from forum_runner.report.recorded_text import RecordedText
from forum_runner.report.table import table, titled_list
from forum_runner.report.task_table import (
    HEADING,
    RIGHT_ALIGNED,
    TRUNCATED_TITLE,
    budget_lines,
    number_cell,
    task_row,
    truncated_lines,
    usage_cells,
)

_MAX_LISTED = 50
_MAX_OUTPUT_LINE = 500
_INTERRUPTIONS = (("paused", "pause"), ("resumed", "resumption"), ("repaired", "repair"))


def render_summary(
    history: RunHistory,
    run: str,
    failures: Mapping[str, TaskFailure] | None = None,
    reasons: Mapping[str, RecordedText] | None = None,
    *,
    color: bool,
) -> Iterator[str]:
    """The lines of the summary. `failures` and `reasons` (of gate decisions) are keyed by task."""
    yield from _header(history, color)
    yield from _damage(history, color)
    if history.tasks:
        yield ""
        yield from _tasks(history, color)
    tasks = history.tasks.values()
    escalations = [clip(f"{task.id}: {lower} -> {upper}") for task in tasks for lower, upper in task.escalations]
    for title, lines in (
        ("why", failure_lines(failures or {})),
        (TRUNCATED_TITLE, truncated_lines(history)),
        ("gates", [line for task in tasks for line in _gate(task, reasons or {})]),
        ("escalations", escalations),
        ("budget", budget_lines(history)),
        ("redactions", [entry_text(entry) for entry in history.redactions]),
        ("outputs", list(_outputs(history))),
    ):
        section = titled_list(title, lines, _MAX_LISTED)
        yield from ["", *section] if section else []
    yield ""
    yield f"Not verified. To verify this ledger: forum verify {clip(run)}"


def end_text(history: RunHistory) -> str:
    """How the run ended, according to the ledger."""
    if history.last is None:
        return "not started: the ledger has no entries"
    if history.is_sealed:
        # The seal of an import does not say how the imported work ended.
        status = "imported" if history.is_import else history.status
        reseals = history.kinds["run.sealed"] - 1
        return clip(status) + (f" (sealed again {counted(reseals, 'time')})" if reseals else "")
    if history.seal is not None:
        return "invalid: entries follow the seal"
    if history.pause_reason is not None:
        return f"paused ({clip(history.pause_reason)})"
    return "no seal: still running, or killed"


def _header(history: RunHistory, color: bool) -> Iterator[str]:
    opened, first, last = history.opened, history.first, history.end
    if first is not None:
        yield f"run       {clip(first.run)}"
    if opened is not None:
        implementation, origin = (
            get_object(opened.data, "implementation"),
            get_str(get_object(opened.data, "from"), "run"),
        )
        program = f"{get_str(implementation, 'name') or '?'} {get_str(implementation, 'version') or '?'}"
        yield f"plan      {clip(get_str(opened.data, 'wave_plan') or 'none')}"
        yield f"mode      {clip(get_str(opened.data, 'mode') or '?')}, by {clip(program)}"
        if origin is not None:
            yield f"from      {clip(origin)}"
        yield from _imported(opened)
    if first is not None and last is not None:
        elapsed = f", {duration(history.elapsed_ms)}" if history.elapsed_ms is not None else ""
        yield f"when      {time_text(first.at)} to {time_text(last.at)}{elapsed}"
    yield f"record    {_record(history)}"
    if history.usage.calls:
        yield f"spent     {_spent(history)}"
    status = "" if history.is_import else history.status
    yield f"ended     {painted(end_text(history), color, fg=STATE_COLORS.get(status, 'yellow'), bold=True)}"


def _record(history: RunHistory) -> str:
    kinds = history.kinds
    words = [counted(history.entries, "entry", "entries")]
    words += [counted(kinds[f"run.{kind}"], noun) for kind, noun in _INTERRUPTIONS if kinds[f"run.{kind}"]]
    custom = sum(number for kind, number in kinds.items() if kind.startswith("x-"))
    return ", ".join([*words, f"{custom:,} of them custom (x-)"] if custom else words)


def _spent(history: RunHistory) -> str:
    usage = history.usage
    cached = f" ({usage.cached_input_tokens:,} cached)" if usage.cached_input_tokens else ""
    words = [counted(usage.calls, "call"), f"{counted(usage.tokens, 'token')}{cached}", money(usage.micro_usd)]
    return ", ".join([*words, f"{duration(usage.wall_ms)} total call time"])


def _imported(opened: ReadEntry) -> Iterator[str]:
    imported = get_object(opened.data, "imported")
    for file in get_objects(imported, "files"):
        name, digest = get_str(file, "name") or "?", get_str(file, "digest") or "?"
        yield f"source    {clip(name, 80)}, {counted(get_amount(file, 'bytes'), 'byte')}, {clip(digest)}"
    if imported:
        format_, check = get_str(imported, "format") or "?", get_str(imported, "check") or "?"
        records = counted(get_amount(imported, "records"), "record")
        origin = f"{records} of {clip(format_)} (hashes in the source: {clip(check)})"
        yield f"imported  {origin}; only as trustworthy as the source"


def _damage(history: RunHistory, color: bool) -> Iterator[str]:
    if history.unreadable:
        first = f"{history.first_unreadable:,} should be"
        lines = f"{history.unreadable:,} lines are not valid entries, the first where entry {first}"
        if history.unreadable == 1:
            lines = f"the line where entry {first} is not a valid entry"
        yield painted(f"damaged   {lines}", color, fg="red")
    if history.torn_bytes:
        yield painted(f"torn      {counted(history.torn_bytes, 'byte')} after the last line", color, fg="red")


def _tasks(history: RunHistory, color: bool) -> list[str]:
    rows: list[tuple[str, ...]] = [(*HEADING, "verdicts")]
    for task in history.tasks.values():
        verdicts = ", ".join(f"{number:,} {verdict}" for verdict, number in task.verdicts.items())
        rows.append((*task_row(task, is_detailed=True), clip(verdicts)))
    rows.append(("total", "", "", number_cell(history.attempts), "", *usage_cells(history.usage), ""))
    return table(rows, RIGHT_ALIGNED, color=color)


def _gate(task: TaskHistory, reasons: Mapping[str, RecordedText]) -> Iterator[str]:
    if task.gate is None:
        return
    decision = task.gate.decision
    if decision is None:
        yield f"{clip(task.id)}: open"
        return
    by = f"{decision.by} ({decision.actor})"
    if decision.by == "person":
        by = str(decision.actor).removeprefix("person:") + ("" if decision.is_authenticated else " (not authenticated)")
    words = [clip(f"{decision.decision} by {by}")]
    words += [EDITED] if decision.is_edited else []
    words += [reasons.get(task.id, RecordedText()).as_reason] if decision.reason is not None else []
    yield f"{clip(task.id)}: {', '.join(words)}"


def _outputs(history: RunHistory) -> Iterator[str]:
    for name, body in history.outputs.items():
        digest = get_str(body, "digest")
        words = [f"{name}:", digest or "", counted(get_amount(body, "bytes"), "byte"), get_str(body, "type") or ""]
        words += ["salted"] if body.get("salted") is True else []
        words += ["redacted"] if digest in history.redacted_digests else []
        yield clip(" ".join(filter(None, words)), _MAX_OUTPUT_LINE)
