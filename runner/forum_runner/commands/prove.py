"""`forum prove`"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.ledger_options import covering_options, tell_if_unsealed
from forum_runner.commands.output import say, write_document

if TYPE_CHECKING:
    from forum_runner.app.proofs import Proved
    from forum_runner.ledger.source import LedgerSource


@click.group("prove", short_help="Prove something about a ledger to somebody who does not have it.")
def command() -> None:
    """Prove something about a ledger to somebody who does not have it.

    A proof is one JSON document with a few hashes, and the checkpoint that they lead to. `forum verify --proof` checks
    it.

    Exits 3 if the ledger's bytes or chain do not hold, and 7 if it has no entry.
    """


@command.command("inclusion", short_help="Prove that an entry is in a ledger.")
@click.argument("run")
@click.option("--seq", type=click.IntRange(min=0), required=True, metavar="N", help="The entry's number, from 0.")
@covering_options
def inclusion(run: str, seq: int, size: int | None, key_file: Path | None, output: str | None) -> int:
    """Prove that an entry is in a ledger: nothing but that entry is shown.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input.
    """
    from forum_runner.app.proofs import prove_inclusion
    from forum_runner.ledger.source import find_ledger

    source = find_ledger(run)
    return _write(lambda: prove_inclusion(source, seq, size), source, key_file, output)


@command.command("consistency", short_help="Prove that a ledger has only grown.")
@click.argument("run")
@click.option(
    "--from",
    "from_size",
    type=click.IntRange(min=0),
    required=True,
    metavar="SIZE",
    help="How many entries the ledger had before.",
)
@covering_options
def consistency(run: str, from_size: int, size: int | None, key_file: Path | None, output: str | None) -> int:
    """Prove that a ledger has only grown since it had SIZE entries: no entry is shown.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input.
    """
    from forum_runner.app.proofs import prove_consistency
    from forum_runner.ledger.source import find_ledger

    source = find_ledger(run)
    return _write(lambda: prove_consistency(source, from_size, size), source, key_file, output)


def _write(prove: Callable[[], Proved], source: LedgerSource, key_file: Path | None, output: str | None) -> int:
    from forum_runner.app.proofs import read_signer_key
    from forum_runner.ledger.proof import write_proof
    from forum_runner.write_file import write_file

    # The key first: a long ledger is not read for a key that cannot sign.
    key = read_signer_key(key_file) if key_file else None
    proved = prove()
    tell_if_unsealed(proved.covered)
    data = write_proof(proved.proof, proved.covered.note(key))
    if output in (None, "-"):
        write_document(data)
    else:
        write_file(Path(output), data, keep=[path for path in (source.path, key_file) if path])
        say(f"{output}: proof that {proved.proof.claim()}")
    return 0
