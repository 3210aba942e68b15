"""The command `forum prove`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forum_runner.commands.options import WORKSPACE, checkpoint_options, output_path
from forum_runner.commands.output import echo, warn_if_unsealed, write_document


@click.group("prove", short_help="Prove a claim about a ledger without sharing it.")
def command() -> None:
    """Prove a claim about a ledger without sharing it.

    A proof is one JSON document: a few hashes and the checkpoint they lead to. Check it with `forum verify --proof`.

    Exits 3 if the ledger's bytes or chain are invalid, and 7 if it has no entry.
    """


@command.command("inclusion", short_help="Prove that a ledger contains an entry.")
@click.argument("run")
@click.option("--seq", type=click.IntRange(min=0), required=True, metavar="N", help="The number of the entry, from 0.")
@checkpoint_options
def inclusion(**options: Any) -> int:
    """Prove that a ledger contains an entry. The proof discloses no other entry.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input.
    """
    return _prove(**options)


@command.command("consistency", short_help="Prove that a ledger has only grown.")
@click.argument("run")
@click.option(
    "--from",
    "from_size",
    type=click.IntRange(min=0),
    required=True,
    metavar="SIZE",
    help="The number of entries that the ledger had before.",
)
@checkpoint_options
def consistency(**options: Any) -> int:
    """Prove that a ledger has only grown since it had SIZE entries. The proof discloses no entry.

    RUN is a run directory, a ledger, the id of a run, or `-` for standard input.
    """
    return _prove(**options)


def _prove(run: str, *, key_file: Path | None, output: str | None, **claim: int | None) -> int:
    from forum_runner import api

    out = output_path(output)
    result = api.prove(WORKSPACE, run, key=key_file, out=out, **claim)
    warn_if_unsealed(is_sealed=result.is_sealed)
    if out is None:
        write_document(result.data)
    else:
        echo(f"{output}: proof that {result.proof.claim()}")
    return 0
