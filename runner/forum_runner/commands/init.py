"""`forum init`"""

from __future__ import annotations

from pathlib import Path

import click


@click.command("init", short_help="Begin a workflow that runs offline.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
def command(folder: Path) -> int:
    """Begin a workflow that runs offline: commented manifests, and the schemas that give an editor its help.

    Nothing that is there already is changed.
    """
    from forum_runner.scaffold import write_scaffold

    written = write_scaffold(folder)
    for path in written:
        click.echo(f"wrote {path}")
    workflow = folder / "workflow.yaml"
    click.echo(f"\nNext: forum check {workflow}\n      forum graph {workflow}")
    return 0
