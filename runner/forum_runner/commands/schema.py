"""`forum schema`"""

from __future__ import annotations

from pathlib import Path

import click


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

    names = resources.schema_names()
    if name is not None and name not in names:
        raise UsageError(f"there is no schema '{name}'; {hint_for(name, names, 'schemas')}")
    if folder is not None:
        from forum_runner.scaffold import write_schemas

        for path in write_schemas(folder):
            click.echo(path)
    elif name is None:
        click.echo("\n".join(names))
    else:
        click.echo(resources.schema_text(name), nl=False)
    return 0
