"""The result of a run as text, as printed at the end of `forum run` and `forum resume`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forum_runner.finding import visible
from forum_runner.ledger.body import JSON, copy_name
from forum_runner.ledger.layout import OUTPUTS
from forum_runner.ledger.read_entry import get_amount, get_str
from forum_runner.manifest.units import counted
from forum_runner.report import join_lines
from forum_runner.report.amounts import clip, duration, time_text
from forum_runner.report.budget_text import RESOURCES, amount_text, used_amount, used_of_limit
from forum_runner.report.failures import failure_lines
from forum_runner.report.next_commands import command_line, gate_commands, verify_command
from forum_runner.report.paint import STATE_COLORS, painted
from forum_runner.report.run_result import RunResult
from forum_runner.report.table import table, titled_list
from forum_runner.report.task_table import (
    HEADING,
    NOT_STARTED,
    RIGHT_ALIGNED,
    SEVERITY,
    TRUNCATED_TITLE,
    budget_lines,
    select_tasks,
    task_row,
    truncated_lines,
)

_MAX_PASSED = 40
_MAX_OTHERS = 200
_MAX_GATES = 50
_MAX_PREVIEW_LINES = 3
_MAX_PREVIEW_CHARACTERS = 200
_MAX_PREVIEW_BYTES = 4 * _MAX_PREVIEW_CHARACTERS
_STATUS_TEXT = {"paused": "paused at a gate", "unfinished": "unfinished, without a seal"}
_COLORS = STATE_COLORS | {"paused": "yellow", "interrupted": "yellow", "unfinished": "yellow"}


def render_result(result: RunResult, *, color: bool = False) -> str:
    lines = [headline(result, color=color)]
    for section in (
        _tasks(result, color),
        titled_list("why", failure_lines(result.failures), _MAX_OTHERS),
        titled_list(TRUNCATED_TITLE, truncated_lines(result.history), _MAX_OTHERS),
        budget_lines(result.history),
        titled_list("outputs", [line for name in output_names(result) for line in _output(result, name)], _MAX_OTHERS),
        list(_gates(result)),
    ):
        lines += ["", *section] if section else []
    lines.append("")
    lines += (f"{name:<8}  {words}" for name, words in _facts(result))
    return join_lines(lines)


def headline(result: RunResult, *, color: bool = False) -> str:
    """The first line of the result: `failed (exit 1): 1 failed, 2 passed in 12.5s`."""
    words = _STATUS_TEXT.get(result.status, clip(result.status))
    status = painted(words, color, fg=_COLORS.get(result.status), bold=True)
    code = f" (exit {result.exit_code})" if result.exit_code else ""
    counts = result.counts
    states = [f"{counts[state]:,} {clip(state)}" for state in (*SEVERITY, NOT_STARTED) if counts[state]]
    return f"{status}{code}: {', '.join(states) or 'no tasks'} in {duration(result.history.active_ms)}"


def spent_text(result: RunResult) -> str:
    """The used amounts, each with its limit if the run has one, and the total time of all calls."""
    usage, limits = result.history.usage, result.context.limits
    words = []
    for name in RESOURCES:
        used = result.history.active_ms if name == "wall_ms" else used_amount(usage, name)
        if name in limits:
            words.append(used_of_limit(name, used, get_amount(limits, name)))
        elif name in ("calls", "tokens") or (name == "micro_usd" and used):
            words.append(amount_text(name, used))
    return ", ".join([*words, f"{duration(usage.wall_ms)} total call time"])


def _tasks(result: RunResult, color: bool) -> list[str]:
    tasks, notes = select_tasks(list(result.history.tasks.values()), _MAX_PASSED, _MAX_OTHERS)
    if not tasks:
        return []
    if not_started := result.counts[NOT_STARTED]:
        notes.append(f"and {not_started:,} {NOT_STARTED}")
    return [*table([HEADING, *map(task_row, tasks)], RIGHT_ALIGNED, color=color), *notes]


def output_names(result: RunResult) -> list[str]:
    return list(dict.fromkeys([*result.context.outputs, *result.history.outputs]))


def output_path(result: RunResult, name: str) -> Path:
    return result.directory / OUTPUTS / copy_name(name, get_str(result.history.outputs[name], "type") or "")


def is_redacted(result: RunResult, name: str) -> bool:
    return get_str(result.history.outputs[name], "digest") in result.history.redacted_digests


def _output(result: RunResult, name: str) -> Iterator[str]:
    body = result.history.outputs.get(name)
    if body is None:
        yield f"{clip(name)}: not written"
    elif is_redacted(result, name):
        yield f"{clip(name)}: redacted"
    else:
        path = output_path(result, name)
        yield f"{clip(name)}: {visible(str(path))} ({counted(get_amount(body, 'bytes'), 'byte')})"
        # A salted body is sensitive, so a log must not repeat it.
        if "salted" not in body:
            yield from (f"  {line}" for line in _preview(path, get_str(body, "type") or "", get_amount(body, "bytes")))


def _preview(path: Path, type_: str, size: int) -> list[str]:
    """The lines of a short text; none for long texts and other contents."""
    if not (type_ == JSON or type_.startswith("text/")) or size > _MAX_PREVIEW_BYTES:
        return []
    try:
        content = path.read_bytes()[:_MAX_PREVIEW_BYTES].decode().strip()
    except (OSError, UnicodeDecodeError):
        return []
    lines = content.replace("\r\n", "\n").split("\n")
    is_short = len(content) <= _MAX_PREVIEW_CHARACTERS and len(lines) <= _MAX_PREVIEW_LINES
    return [visible(line) for line in lines] if is_short else []


def _gates(result: RunResult) -> Iterator[str]:
    for gate in result.gates[:_MAX_GATES]:
        until = f" until {time_text(gate.deadline)}, then {clip(gate.on_deadline or '?')}" if gate.deadline else ""
        yield f"{clip(gate.task, 80)} is waiting for a decision{until}: {clip(gate.question, 500)}"
        yield from (f"  {line}" for line in gate_commands(result.run_argument, gate.task))
    if len(result.gates) > _MAX_GATES:
        yield f"and {counted(len(result.gates) - _MAX_GATES, 'more gate')}"


def _facts(result: RunResult) -> Iterator[tuple[str, str]]:
    yield "spent", spent_text(result)
    yield "run", visible(str(result.directory))
    yield "head", result.history.head
    yield "verify", verify_command(result.directory, result.history.head)
    if result.is_resumable:
        yield "resume", command_line("resume", result.run_argument)
    elif result.status not in ("passed", "refused"):
        yield (
            "retry",
            f"{command_line('resume', result.run_argument, '--failed')}  (a new run that reuses passed results)",
        )
