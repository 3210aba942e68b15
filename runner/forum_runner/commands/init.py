"""The command `forum init`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import echo


@click.command("init", short_help="Create a workflow that runs offline.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
def command(folder: Path) -> int:
    """Create a workflow that runs offline: commented manifests, and schemas for editors.

    Never overwrites a file.
    """
    from forum_runner import api

    for path in api.init(WORKSPACE, folder):
        echo(f"wrote {path}")
    workflow = shlex.quote(str(folder / "workflow.yaml"))
    echo(f"\nNext: forum check {workflow}\n      forum graph {workflow}\n      forum run {workflow} --deterministic")
    return 0
