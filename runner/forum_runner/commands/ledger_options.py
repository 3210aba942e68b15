"""Options that `forum checkpoint` and `forum prove` share."""

from __future__ import annotations

import click

from forum_runner.commands.options import FILE, combined
from forum_runner.commands.output import echo_err

covering_options = combined(
    click.option(
        "--size", type=click.IntRange(min=0), metavar="N", help="Cover only the first N entries.  [default: all]"
    ),
    click.option(
        "--key", "key_file", type=FILE, metavar="FILE", help="Sign the checkpoint with the private key in FILE."
    ),
    click.option("-o", "--output", metavar="PATH", help="Write to PATH.  [default: standard output]"),
)


def warn_if_unsealed(*, is_sealed: bool) -> None:
    if not is_sealed:
        echo_err("forum: the ledger is not sealed: it may still grow, or its end may be missing")
