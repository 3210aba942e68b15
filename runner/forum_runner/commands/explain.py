"""The command `forum explain`."""

from __future__ import annotations

from dataclasses import asdict

import click

from forum_runner.commands.options import JSON
from forum_runner.commands.output import echo, write_json


@click.command("explain", short_help="Explain the code of a finding.")
@click.argument("code", required=False)
@JSON
def command(code: str | None, as_json: bool) -> int:
    """Explain the code of a finding, such as F012. Without CODE, list all codes."""
    from forum_runner import api

    found = api.explain(code)
    if as_json:
        documents = [asdict(item) for item in found]
        write_json(documents if code is None else documents[0])
    elif code is None:
        echo("\n".join(f"{item.code}  {item.title}" for item in found))
    else:
        echo(f"{found[0].code}  {found[0].title}\n\n{found[0].text}")
    return 0
