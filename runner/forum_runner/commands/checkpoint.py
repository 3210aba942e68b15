"""The command `forum checkpoint`."""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import WORKSPACE, checkpoint_options, output_path
from forum_runner.commands.output import echo, warn_if_unsealed, write_document, write_json


@click.command("checkpoint", short_help="Print a ledger's size and Merkle root, optionally signed.")
@click.argument("run")
@checkpoint_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: run, size, root, sealed and checkpoint.")
def command(run: str, size: int | None, key_file: Path | None, output: str | None, as_json: bool) -> int:
    """Print a ledger's size and Merkle root, optionally signed.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input. With a copy of the checkpoint, anyone
    can verify later that the ledger has only grown. For an unsealed ledger, the checkpoint covers the entries written
    so far.

    Exits 3 if the ledger's bytes or chain are invalid, and 7 if it has no entry.
    """
    from forum_runner import api
    from forum_runner.manifest.units import counted

    out = output_path(output, as_json)
    result = api.checkpoint(WORKSPACE, run, size=size, key=key_file, out=out)
    warn_if_unsealed(is_sealed=result.is_sealed)
    if as_json:
        checkpoint = result.checkpoint
        facts = {"run": checkpoint.run, "size": checkpoint.size, "root": checkpoint.root.hex()}
        write_json({**facts, "sealed": result.is_sealed, "checkpoint": result.data.decode()})
    elif out is None:
        write_document(result.data)
    else:
        echo(f"{output}: checkpoint of {counted(result.checkpoint.size, 'entry', 'entries')}")
    return 0
