"""`forum gate`"""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner.commands.output import say, write_document

if TYPE_CHECKING:
    from forum_runner.app.gates import WaitingGate

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group("gate", short_help="List what waits for a person, and decide it.")
def command() -> None:
    """List what waits for a person in a paused run, and decide it.

    A decision is bound to the digest of what was shown, and is recorded as a claim: forum does not know who you are.
    After the last one, `forum resume RUN` goes on.
    """


def _decision_options(command: _Command) -> _Command:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--shown", metavar="DIGEST", help="The digest of what you saw: the decision is refused for another."
        ),
        click.option("--reason", metavar="TEXT", help="Why. It goes into the record."),
        click.option("--by", metavar="NAME", default=None, help="Who decides.  [default: your login name]"),
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
    from forum_runner.app.gates import waiting_gates

    gates = waiting_gates(run)
    if as_json:
        import json

        write_document(json.dumps({"gates": [_form(gate) for gate in gates]}, indent=2, ensure_ascii=False) + "\n")
        return 0
    if not gates:
        say("no gate waits for a decision")
    for gate in gates:
        say(_described(gate, run), newline=False)
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
    gate = decide(run, task, decision, by=who, reason=reason, shown=shown, instruction=instruction)
    left = len(waiting_gates(run))
    if as_json:
        import json

        form = {"task": task, "decision": decision, "by": who, "shown": gate.digest, "authenticated": False}
        write_document(json.dumps({**form, "waiting": left}, indent=2, ensure_ascii=False) + "\n")
        return 0
    rest = f"{left} more to decide" if left else f"go on with: {command_line('resume', run)}"
    edited = ", with another instruction" if instruction is not None else ""
    say(f"{task}: {decision}{edited}, claimed by {who}, on what was shown as {gate.digest[:12]}; {rest}")
    return 0


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _form(gate: WaitingGate) -> dict[str, Any]:
    return {"task": gate.task, "digest": gate.digest, "deadline": gate.deadline, "shown": gate.shown}


def _described(gate: WaitingGate, run: str) -> str:
    from forum_runner.finding import visible
    from forum_runner.report.run_commands import gate_lines

    lines = [f"{gate.task}"]
    shown = gate.shown or {}
    lines.append(f"  question  {visible(str(shown.get('question', 'what was shown is redacted')))}")
    if gate.deadline is not None:
        lines.append(f"  deadline  {gate.deadline}{' (passed)' if gate.is_over else ''}")
    lines.append(f"  shown     {gate.digest}")
    for name in ("agent", "argv", "stdin", "system", "text"):
        if shown.get(name):
            text = " ".join(shown[name]) if name == "argv" else str(shown[name])
            lines += [f"  {name}"] + [f"    {visible(line)}" for line in text.splitlines()[:40]]
    if not gate.is_over:
        lines += [f"  {line} --shown {gate.digest[:12]}" for line in gate_lines(run, gate.task)]
    return "\n".join(lines) + "\n"
