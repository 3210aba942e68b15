"""The command `forum gate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forum_runner.commands.options import BY, FILE, JSON, WORKSPACE, combine_options
from forum_runner.commands.output import echo, write_json

if TYPE_CHECKING:
    from forum_runner.report.pending_gate import PendingGate

_MAX_SHOWN_LINES = 40


@click.group("gate", short_help="List pending gates and decide them.")
def command() -> None:
    """List pending gates and decide them.

    A decision is bound to the digest of the displayed document, and is recorded as a claim: forum does not authenticate
    you. A run in progress continues at once; resume a paused one with `forum resume RUN`.
    """


_decision_options = combine_options(
    click.argument("run"),
    click.argument("task"),
    BY,
    click.option("--reason", metavar="TEXT", help="Record this reason."),
    click.option(
        "--displayed", metavar="DIGEST", help="Require this digest of the displayed document, or a prefix of it."
    ),
    JSON,
)


@command.command("list")
@click.argument("run")
@JSON
def list_gates(run: str, as_json: bool) -> int:
    """List pending gates and the prompt or command of each. Long prompts are truncated; --json prints them in full."""
    from forum_runner import api

    open_gates = api.gates(WORKSPACE, run)
    if as_json:
        write_json({"at_work": open_gates.is_running, "gates": [_document(gate) for gate in open_gates.gates]})
        return 0
    if not open_gates.gates:
        echo("no gate is waiting for a decision")
    for gate in open_gates.gates:
        echo(_text(gate, run), newline=False)
    if open_gates.gates and open_gates.is_running:
        echo("the run is in progress and applies a decision at once")
    return 0


@command.command("approve")
@_decision_options
def approve(**options: Any) -> int:
    """Approve a task so that it starts."""
    return _decide("approved", **options)


@command.command("reject")
@_decision_options
def reject(**options: Any) -> int:
    """Reject a task. It ends, and nothing that depends on it starts."""
    return _decide("rejected", **options)


@command.command("edit")
@_decision_options
@click.option("--instruction", metavar="TEXT", help="Give the agent this instruction.")
@click.option("--file", type=FILE, metavar="FILE", help="Read the instruction from FILE.")
def edit(instruction: str | None, file: Path | None, **options: Any) -> int:
    """Approve a task with an edited instruction."""
    if (instruction is None) == (file is None):
        raise click.UsageError("pass the instruction with either --instruction or --file")
    if file is not None:
        try:
            instruction = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.BadParameter(f"cannot read '{file}': {error}", param_hint="--file") from error
    return _decide("approved", **options, instruction=instruction)


def _decide(
    decision: str,
    *,
    run: str,
    task: str,
    by: str,
    reason: str | None,
    displayed: str | None,
    as_json: bool,
    instruction: str | None = None,
) -> int:
    from forum_runner import api
    from forum_runner.commands.event_loop import run_main
    from forum_runner.manifest.units import counted
    from forum_runner.report.amounts import short_digest
    from forum_runner.report.next_commands import command_line

    request = api.DecisionRequest(run, task, decision, by, reason, displayed, instruction)
    decided = run_main(api.decide(WORKSPACE, request))
    digest, pending = decided.gate.digest, decided.pending
    if as_json:
        document = {"task": task, "decision": decision, "by": by, "digest": digest, "authenticated": False}
        document |= {"edited": instruction is not None, "waiting": len(pending), "at_work": decided.is_running}
        write_json(document)
        return 0
    to_decide = sum(not other.is_expired for other in pending)
    next_step = "the run continues" if decided.is_running else f"resume with: {command_line('resume', run)}"
    rest = f"{counted(to_decide, 'more gate')} to decide" if to_decide else next_step
    edited = " with an edited instruction" if instruction is not None else ""
    echo(f"{task}: {decision} by {by} (not authenticated){edited}, for digest {short_digest(digest)}; {rest}")
    return 0


def _document(gate: PendingGate) -> dict[str, Any]:
    time = {"deadline": gate.deadline, "on_deadline": gate.on_deadline, "deadline_passed": gate.is_expired}
    return {"task": gate.task, "digest": gate.digest, **time, "displayed": gate.displayed}


def _text(gate: PendingGate, run: str) -> str:
    from forum_runner.finding import visible
    from forum_runner.report import join_lines
    from forum_runner.report.amounts import clip, short_digest, time_text
    from forum_runner.report.next_commands import command_line, gate_commands

    displayed = gate.displayed or {}
    lines = [gate.task, f"  question  {visible(str(displayed.get('question', 'not available')))}"]
    if gate.deadline is not None:
        passed = " (passed)" if gate.is_expired else ""
        lines.append(f"  deadline  {time_text(gate.deadline)}{passed}, then {clip(gate.on_deadline or '?')}")
    lines.append(f"  digest    {gate.digest}")
    for name in ("agent", "argv", "stdin", "system", "text"):
        if displayed.get(name):
            text = " ".join(displayed[name]) if name == "argv" else str(displayed[name])
            lines += [f"  {name}"] + [f"    {visible(line)}" for line in text.splitlines()[:_MAX_SHOWN_LINES]]
    if gate.is_expired:
        lines.append(f"  the deadline has passed; apply `on_deadline` with: {command_line('resume', run)}")
    else:
        digest = short_digest(gate.digest)
        lines += [f"  {command} --displayed {digest}" for command in gate_commands(run, gate.task)]
    return join_lines(lines)
