"""The command `forum doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import JSON, ROOT, WORKSPACE
from forum_runner.commands.output import echo, show_findings, write_json
from forum_runner.errors import ExitCode

if TYPE_CHECKING:
    from forum_runner.app.doctor import Health


@click.command("doctor", short_help="Check the installation, credentials and adapters.")
@click.argument("file", required=False)
@ROOT
@JSON
def command(file: str | None, root: Path | None, as_json: bool) -> int:
    """Check the installation and, for the workflow FILE, its programs, adapters and credentials.

    Lists installed libraries, adapter types and engines. Does not call an adapter whose credential is not set, and
    never prints a credential.

    Exits 0 if nothing is missing, 1 if a library or a program is missing or an adapter does not answer, 2 if the
    workflow has errors (6 if the only ones are refusals by the policy), and 8 if a credential is not set.
    """
    from forum_runner import api
    from forum_runner.commands.event_loop import run_main

    try:
        health = run_main(api.doctor(WORKSPACE, file, root=root))
    except api.InvalidWorkflowError as error:
        show_findings(error.report)
        return error.exit_code
    if as_json:
        write_json({"ok": health.is_ok, **asdict(health)})
    else:
        echo(_text(health), newline=False)
    if any(not is_set for adapter in health.adapters for is_set in adapter.variables.values()):
        return ExitCode.NO_CREDENTIAL
    return ExitCode.OK if health.is_ok else ExitCode.FAILED


def _text(health: Health) -> str:
    from forum_runner.finding import visible
    from forum_runner.report import join_lines

    lines = ["installed"]
    lines += [f"  {name:<14} {version or 'missing'}" for name, version in health.versions.items()]
    for title, packages in (("adapter types", health.types), ("engines", health.engines)):
        lines.append(title)
        lines += [f"  {name:<14} {package}" for name, package in sorted(packages.items())]
    if health.programs:
        lines.append("programs of the workflow")
    lines += [f"  {visible(name):<14} {path or 'not found'}" for name, path in health.programs.items()]
    if health.adapters:
        lines.append("adapters of the workflow")
    for item in health.adapters:
        state = "answers" if item.problem is None else visible(item.problem)
        lines.append(f"  {item.name:<14} {item.type}: {state}")
        lines += [f"    {name} is {'set' if is_set else 'not set'}" for name, is_set in item.variables.items()]
    return join_lines(lines)
