"""`forum doctor`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.output import say, show_findings, write_json
from forum_runner.errors import ExitCode

if TYPE_CHECKING:
    from forum_runner.app.doctor import Health


@click.command("doctor", short_help="Say what is installed, and what answers.")
@click.argument("file", required=False)
@click.option("--root", type=click.Path(path_type=Path), metavar="DIR", help="The bundle's root.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(file: str | None, root: Path | None, as_json: bool) -> int:
    """Say what is installed, which types of adapters there are and, for the workflow FILE, which of its adapters answer
    and which credentials are set. An adapter whose credential is not set is not asked. Values are never shown.

    Exits 0 if all is well, 1 if a program is not found or an adapter does not answer, and 8 if a credential is not set.
    """
    from forum_runner.app.doctor import examine
    from forum_runner.app.workflows import Inputs, compile_file
    from forum_runner.finding import exit_code_of

    plan = None
    if file is not None:
        compiled = compile_file(file, root, Inputs(), complete=False)
        if compiled.wave_plan is None:
            show_findings(compiled.report)
            return exit_code_of(compiled.report.findings)
        plan = compiled.wave_plan
    health = examine(plan)
    if as_json:
        write_json(_form(health))
    else:
        say(_described(health), newline=False)
    if any(not is_set for adapter in health.adapters for is_set in adapter.variables.values()):
        return ExitCode.NO_CREDENTIAL
    return ExitCode.OK if health.is_well else ExitCode.FAILED


def _form(health: Health) -> dict[str, object]:
    adapters = [
        {"name": item.name, "type": item.type, "variables": dict(item.variables), "problem": item.problem}
        for item in health.adapters
    ]
    return {
        "ok": health.is_well,
        "versions": dict(health.versions),
        "types": dict(health.types),
        "programs": dict(health.programs),
        "adapters": adapters,
    }


def _described(health: Health) -> str:
    from forum_runner.finding import visible

    lines = ["installed"]
    lines += [f"  {name:<14} {found or 'missing'}" for name, found in health.versions.items()]
    lines.append("types of adapters")
    lines += [f"  {name:<14} {origin}" for name, origin in sorted(health.types.items())]
    if health.programs:
        lines.append("programs of the workflow")
    lines += [f"  {visible(name):<14} {found or 'not found'}" for name, found in health.programs.items()]
    if health.adapters:
        lines.append("adapters of the workflow")
    for item in health.adapters:
        state = "answers" if item.problem is None else visible(item.problem)
        lines.append(f"  {item.name:<14} {item.type}: {state}")
        lines += [f"    {name} is {'set' if is_set else 'not set'}" for name, is_set in item.variables.items()]
    return "\n".join(lines) + "\n"
