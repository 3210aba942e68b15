"""The command `forum keygen`."""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import FILE, JSON, WORKSPACE
from forum_runner.commands.output import echo, write_json


@click.command("keygen", short_help="Generate a key that signs checkpoints.")
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Write the private key to FILE, and the public key to FILE.pub.",
)
@JSON
def command(name: str, output: Path, as_json: bool) -> int:
    """Generate a key that signs checkpoints, and print its public half.

    Every signature contains NAME. A URL without a scheme is a good choice, such as example.org/release. Only the owner
    can read FILE. Never overwrites a file.
    """
    from forum_runner import api

    if str(output) == "-":
        raise api.UsageError("a private key is never printed; use a file")
    key = api.keygen(WORKSPACE, name, output)
    if as_json:
        document = {"name": key.name, "id": key.id.hex(), "public_key": key.encode()}
        write_json({**document, "private_key_file": str(output), "public_key_file": f"{output}.pub"})
    else:
        echo(key.encode())
    return 0
