"""`forum schema`"""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.output import say


@click.command("schema", short_help="Print a JSON Schema, or write all of them for an editor.")
@click.argument("name", required=False)
@click.option(
    "--write", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Write all schemas into DIR/v1."
)
def command(name: str | None, folder: Path | None) -> int:
    """Print a JSON Schema, or write all of them for an editor. Without NAME, list the names."""
    from forum_runner import resources
    from forum_runner.errors import UsageError
    from forum_runner.manifest.suggest import hint_for

    if name is not None and folder is not None:
        raise click.UsageError("--write writes all schemas, because they refer to each other; leave NAME out")
    names = resources.schema_names()
    if name is not None and name not in names:
        raise UsageError(f"there is no schema '{name}'; {hint_for(name, names, 'schemas')}")
    if folder is not None:
        from forum_runner.scaffold import write_schemas

        for path in write_schemas(folder):
            say(str(path))
    elif name is None:
        say("\n".join(names))
    else:
        say(resources.schema_text(name), newline=False)
    return 0
