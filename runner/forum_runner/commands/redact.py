"""The command `forum redact`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import BY, JSON, WORKSPACE
from forum_runner.commands.output import echo, echo_err, write_json

if TYPE_CHECKING:
    from forum_runner.app.verification import RedactionResult


@click.command("redact", short_help="Remove a body from a run and record the redaction.")
@click.argument("run")
@click.option("--seq", type=click.IntRange(min=0), required=True, metavar="N", help="The entry that names the body.")
@click.option("--body", required=True, metavar="NAME", help="The body's name in that entry, such as prompt or output.")
@click.option("--reason", required=True, metavar="TEXT", help="Record this reason.")
@BY
@JSON
def command(run: str, seq: int, body: str, reason: str, by: str, as_json: bool) -> int:
    """Remove a body from a run and record the redaction.

    RUN is a run directory or the id of a run. Overwrites the bytes in place, for every entry that names them, and
    records the reason. The chain stays valid, and a sealed ledger is sealed again. This cannot be undone.

    Exits 3 if the ledger is invalid, and 2 if there is nothing to redact.
    """
    from forum_runner import api

    _check_reason(reason)
    result = api.redact(WORKSPACE, api.RedactionRequest(run, seq, body, reason, by))
    if as_json:
        write_json(_document(result, seq, body, by))
    else:
        echo(f"redacted the body '{body}' of entry {seq}; recorded as entry {result.seq}")
    if not result.is_sealed:
        echo_err("forum: the run has not finished: tasks that need this body will fail when it resumes")
    _warn_of_torn_tails(result.directory)
    return 0


def _document(result: RedactionResult, seq: int, body: str, by: str) -> dict[str, object]:
    return {
        "apiVersion": "forum/v1",
        "kind": "Redaction",
        "run": result.run,
        "directory": str(result.directory),
        "head": result.head,
        "seq": seq,
        "body": body,
        "by": by,
        "recorded_seq": result.seq,
    }


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise click.BadParameter("the reason is empty", param_hint="--reason")
    if reason.encode(errors="ignore").decode() != reason:
        raise click.BadParameter("the reason is not valid UTF-8", param_hint="--reason")


def _warn_of_torn_tails(directory: Path) -> None:
    from forum_runner.ledger.layout import TORN_TAILS

    torn = directory / TORN_TAILS
    if torn.is_dir():
        echo_err(
            f"forum: '{torn}' has half-written data from crashes, which may contain the body; check the files yourself"
        )
