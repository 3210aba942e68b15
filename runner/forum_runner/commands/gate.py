"""`forum gate`"""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner.commands.output import say, write_json

if TYPE_CHECKING:
    from forum_runner.app.gates import WaitingGate

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group("gate", short_help="List what waits for a person, and decide it.")
def command() -> None:
    """List what waits for a person in a run, and decide it.

    A decision is bound to the digest of what was shown, and is recorded as a claim: forum does not know who you are.
    A run that is at work goes on with it; one that has paused goes on with `forum resume RUN`.
    """


def _decision_options(command: _Command) -> _Command:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--shown", metavar="DIGEST", help="The digest of what you saw: the decision is refused for another."
        ),
        click.option("--reason", metavar="TEXT", help="Why. It goes into the record."),
        click.option(
            "--by", metavar="NAME", default=None, help="Who decides: no spaces, ASCII.  [default: your login name]"
        ),
        click.argument("task"),
        click.argument("run"),
    ):
        command = option(command)
    return command


@command.command("list")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_gates(run: str, as_json: bool) -> int:
    """List the gates that wait, with what a person decides on."""
    from forum_runner.app.gates import look_at_gates

    waiting = look_at_gates(run)
    if as_json:
        form = {"at_work": waiting.is_at_work, "gates": [_form(gate) for gate in waiting.gates]}
        write_json(form)
        return 0
    if not waiting.gates:
        say("no gate waits for a decision")
    for gate in waiting.gates:
        say(_described(gate, run), newline=False)
    if waiting.gates and waiting.is_at_work:
        say("the run is at work, and takes up what is decided")
    return 0


@command.command("approve")
@_decision_options
def approve(run: str, task: str, by: str | None, reason: str | None, shown: str | None, as_json: bool) -> int:
    """Let the task begin."""
    return _decide(run, task, "approved", by, reason, shown, None, as_json=as_json)


@command.command("reject")
@_decision_options
def reject(run: str, task: str, by: str | None, reason: str | None, shown: str | None, as_json: bool) -> int:
    """Refuse the task. It ends, and nothing that comes after it begins."""
    return _decide(run, task, "rejected", by, reason, shown, None, as_json=as_json)


@command.command("edit")
@_decision_options
@click.option("--instruction", metavar="TEXT", help="What the agent is to do instead.")
@click.option("--file", type=click.Path(path_type=Path), metavar="FILE", help="A file that holds the instruction.")
def edit(
    run: str,
    task: str,
    by: str | None,
    reason: str | None,
    shown: str | None,
    as_json: bool,
    instruction: str | None,
    file: Path | None,
) -> int:
    """Let the task begin with another instruction."""
    if (instruction is None) == (file is None):
        raise click.UsageError("give the instruction with --instruction or with --file")
    if file is not None:
        try:
            instruction = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.BadParameter(f"cannot read '{file}': {error}", param_hint="--file") from error
    return _decide(run, task, "approved", by, reason, shown, instruction, as_json=as_json)


def _decide(
    run: str,
    task: str,
    decision: str,
    by: str | None,
    reason: str | None,
    shown: str | None,
    instruction: str | None,
    *,
    as_json: bool,
) -> int:
    from forum_runner.app.gates import decide, person_name, waiting_gates
    from forum_runner.report.run_commands import command_line

    who = person_name(by if by is not None else _login_name())
    decided = decide(run, task, decision, by=who, reason=reason, shown=shown, instruction=instruction)
    digest, left = decided.gate.digest, waiting_gates(run)
    if as_json:
        form = {"task": task, "decision": decision, "by": who, "digest": digest, "authenticated": False}
        form |= {"edited": instruction is not None, "waiting": len(left), "at_work": decided.is_at_work}
        write_json(form)
        return 0
    to_decide = sum(not other.is_over for other in left)
    goes_on = "the run goes on" if decided.is_at_work else f"go on with: {command_line('resume', run)}"
    rest = f"{to_decide} more to decide" if to_decide else goes_on
    edited = ", with another instruction" if instruction is not None else ""
    say(f"{task}: {decision}{edited}, claimed by {who}, on what was shown as {digest[:12]}; {rest}")
    return 0


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _form(gate: WaitingGate) -> dict[str, Any]:
    time = {"deadline": gate.deadline, "on_deadline": gate.on_deadline, "deadline_passed": gate.is_over}
    return {"task": gate.task, "digest": gate.digest, **time, "shown": gate.shown}


def _described(gate: WaitingGate, run: str) -> str:
    from forum_runner.finding import visible
    from forum_runner.report.amounts import clip, moment

    lines = [f"{gate.task}"]
    told = gate.shown or {}
    lines.append(f"  question  {visible(str(told.get('question', 'what was shown is redacted')))}")
    if gate.deadline is not None:
        passed = " (passed)" if gate.is_over else ""
        lines.append(f"  deadline  {moment(gate.deadline)}{passed}, then {clip(gate.on_deadline or '?')}")
    lines.append(f"  shown     {gate.digest}")
    for name in ("agent", "argv", "stdin", "system", "text"):
        if told.get(name):
            text = " ".join(told[name]) if name == "argv" else str(told[name])
            lines += [f"  {name}"] + [f"    {visible(line)}" for line in text.splitlines()[:40]]
    lines += [f"  {line}" for line in _what_to_type(gate, run)]
    return "\n".join(lines) + "\n"


def _what_to_type(gate: WaitingGate, run: str) -> list[str]:
    from forum_runner.report.run_commands import command_line, gate_lines

    if gate.is_over:
        return [f"its deadline has passed, and nobody else decides; this records it: {command_line('resume', run)}"]
    return [f"{line} --shown {gate.digest[:12]}" for line in gate_lines(run, gate.task)]
