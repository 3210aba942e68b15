"""`forum keygen`"""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.output import say


@click.command("keygen", short_help="Make a key that signs checkpoints.")
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Write the private key there, and the public key to FILE.pub.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, output: Path, as_json: bool) -> int:
    """Make a key that signs checkpoints, and print its public half.

    NAME goes into every signature; a schema-less URL such as example.org/release is a good one. FILE is readable by its
    owner only. Nothing that is there already is overwritten.
    """
    import json

    from forum_runner.app.proofs import generate_key
    from forum_runner.errors import UsageError

    if str(output) == "-":
        raise UsageError("a private key is not printed; give a file")
    key = generate_key(name, output)
    if as_json:
        document = {"name": key.name, "id": key.id.hex(), "public_key": key.write()}
        say(json.dumps({**document, "private_key_file": str(output), "public_key_file": f"{output}.pub"}, indent=2))
    else:
        say(key.write())
    return 0
