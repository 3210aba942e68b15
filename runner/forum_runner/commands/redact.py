"""`forum redact`"""

from __future__ import annotations

import getpass
import re

import click

from forum_runner.commands.output import say, say_aside


@click.command("redact", short_help="Take a body out of a ledger, and leave a record of it.")
@click.argument("run")
@click.option("--seq", type=click.IntRange(min=0), required=True, metavar="N", help="The entry that names the body.")
@click.option("--body", required=True, metavar="NAME", help="The body's name in that entry, such as prompt or output.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; this is recorded.")
@click.option("--by", metavar="NAME", help="Who redacts it.  [default: the user of this process]")
def command(run: str, seq: int, body: str, reason: str, by: str | None) -> int:
    """Take a body out of a ledger, and leave a record of it.

    RUN is a run directory or the id of a run. The bytes are overwritten where they stand, for every entry that names
    them; an entry says so, and why. The chain still holds, and a sealed ledger is sealed again. This cannot be undone.

    Exits 3 if the ledger does not hold, and 2 if there is nothing to redact.
    """
    from forum_runner.app.verification import redact_body
    from forum_runner.ledger.layout import TORN
    from forum_runner.ledger.source import find_ledger

    if not reason.strip():
        raise click.BadParameter("it is empty", param_hint="--reason")
    if not reason.isascii() and any("\ud800" <= letter <= "\udfff" for letter in reason):
        raise click.BadParameter("it is not valid UTF-8", param_hint="--reason")
    if by == "":
        raise click.BadParameter("it is empty", param_hint="--by")
    actor = f"person:{by or _user()}"
    if not re.fullmatch(r"person:[!-~]{1,200}", actor):
        raise click.BadParameter("a name has no spaces, and only letters of ASCII", param_hint="--by")
    source = find_ledger(run)
    recorded = redact_body(source, seq, body, reason, actor)
    say(f"redacted the body '{body}' of entry {seq}; entry {recorded} says so")
    torn = source.directory / TORN if source.directory is not None else None
    if torn is not None and torn.is_dir():
        say_aside(f"forum: '{torn}' keeps what crashes left half-written; it is not searched, look there too")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise click.UsageError("the user of this process has no name here; give --by NAME") from error
