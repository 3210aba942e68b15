"""`forum prove`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.ledger_options import covering_options, warn_if_unsealed
from forum_runner.commands.options import WORKSPACE, output_path
from forum_runner.commands.output import say, write_document

if TYPE_CHECKING:
    from forum_runner.app.proofs import LedgerProof


@click.group("prove", short_help="Prove a claim about a ledger without sharing it.")
def command() -> None:
    """Prove a claim about a ledger without sharing it.

    A proof is one JSON document: a few hashes and the checkpoint they lead to. Check it with `forum verify --proof`.

    Exits 3 if the ledger's bytes or chain are invalid, and 7 if it has no entry.
    """


@command.command("inclusion", short_help="Prove that a ledger contains an entry.")
@click.argument("run")
@click.option(
    "--seq",
    type=click.IntRange(min=0),
    required=True,
    metavar="N",
    help="Select the entry by its number, from 0.",
)
@covering_options
def inclusion(run: str, seq: int, size: int | None, key_file: Path | None, output: str | None) -> int:
    """Prove that a ledger contains an entry. The proof discloses no other entry.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input.
    """
    from forum_runner import api

    return _print(api.prove(WORKSPACE, run, seq=seq, size=size, key=key_file, out=output_path(output)), output)


@command.command("consistency", short_help="Prove that a ledger has only grown.")
@click.argument("run")
@click.option(
    "--from",
    "from_size",
    type=click.IntRange(min=0),
    required=True,
    metavar="SIZE",
    help="Prove that the ledger has only grown since it had SIZE entries.",
)
@covering_options
def consistency(run: str, from_size: int, size: int | None, key_file: Path | None, output: str | None) -> int:
    """Prove that a ledger has only grown since it had SIZE entries. The proof discloses no entry.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input.
    """
    from forum_runner import api

    proof = api.prove(WORKSPACE, run, from_size=from_size, size=size, key=key_file, out=output_path(output))
    return _print(proof, output)


def _print(made: LedgerProof, output: str | None) -> int:
    warn_if_unsealed(is_sealed=made.is_sealed)
    if output_path(output) is None:
        write_document(made.data)
    else:
        say(f"{output}: proof that {made.proof.claim()}")
    return 0
