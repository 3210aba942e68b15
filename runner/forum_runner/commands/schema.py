"""The command `forum schema`."""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import echo


@click.command("schema", short_help="Print a JSON Schema, or write all of them for an editor.")
@click.argument("name", required=False)
@click.option("--write", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Write all schemas to DIR/v1.")
def command(name: str | None, folder: Path | None) -> int:
    """Print a JSON Schema, or write all of them for an editor. Without NAME, list the names."""
    from forum_runner import api

    if name is not None and folder is not None:
        raise click.UsageError("--write writes all schemas, because they refer to each other; omit NAME")
    if folder is not None:
        for path in api.write_schemas(WORKSPACE, folder):
            echo(str(path))
    elif name is None:
        echo("\n".join(api.schema_names()))
    else:
        echo(api.schema(name), newline=False)
    return 0
