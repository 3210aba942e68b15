"""`forum init`"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from forum_runner.commands.output import say


@click.command("init", short_help="Begin a workflow that runs offline.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
def command(folder: Path) -> int:
    """Begin a workflow that runs offline: commented manifests, and the schemas that give an editor its help.

    Nothing that is there already is changed.
    """
    from forum_runner.scaffold import write_scaffold

    written = write_scaffold(folder)
    for path in written:
        say(f"wrote {path}")
    workflow = shlex.quote(str(folder / "workflow.yaml"))
    say(f"\nNext: forum check {workflow}\n      forum graph {workflow}\n      forum run {workflow} --deterministic")
    return 0
