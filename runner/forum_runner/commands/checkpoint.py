"""`forum checkpoint`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.ledger_options import covering_options, tell_if_unsealed
from forum_runner.commands.output import say, write_document

if TYPE_CHECKING:
    from forum_runner.app.proofs import Covered


@click.command("checkpoint", short_help="Print the size and Merkle root of a ledger, signed if you like.")
@click.argument("run")
@covering_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: run, size, root, and the checkpoint's text.")
def command(run: str, size: int | None, key_file: Path | None, output: str | None, as_json: bool) -> int:
    """Print the size and Merkle root of a ledger, signed if you like.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input. Whoever keeps the checkpoint can tell
    later whether the ledger has only grown.

    Exits 3 if the ledger's bytes or chain do not hold, and 7 if it has no entry. A ledger that is not sealed has a
    checkpoint too: that of its entries so far.
    """
    from forum_runner.app.proofs import cover, read_signer_key
    from forum_runner.ledger.source import find_ledger
    from forum_runner.write_file import write_file

    if as_json and output not in (None, "-"):
        raise click.UsageError("--json prints, and -o writes the checkpoint to a file; give one of them")
    key = read_signer_key(key_file) if key_file else None
    source = find_ledger(run)
    covered = cover(source, size)
    tell_if_unsealed(covered)
    data = covered.note(key).write()
    if as_json:
        say(_json(covered, data))
    elif output in (None, "-"):
        write_document(data)
    else:
        write_file(Path(output), data, keep=[path for path in (source.path, key_file) if path])
        say(f"{output}: checkpoint of {covered.checkpoint.size} entries")
    return 0


def _json(covered: Covered, data: bytes) -> str:
    import json

    checkpoint = covered.checkpoint
    facts = {"run": checkpoint.run, "size": checkpoint.size, "root": checkpoint.root.hex()}
    return json.dumps({**facts, "sealed": covered.is_sealed, "checkpoint": data.decode()}, indent=2)
