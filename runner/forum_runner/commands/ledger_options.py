"""What `forum checkpoint` and `forum prove` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner.commands.output import say_aside

if TYPE_CHECKING:
    from forum_runner.app.proofs import Covered

_Command = TypeVar("_Command", bound=Callable[..., Any])


def covering_options(command: _Command) -> _Command:
    """--size, --key and -o."""
    for option in (
        click.option("-o", "--output", metavar="PATH", help="Write it there.  [default: standard output]"),
        click.option(
            "--key",
            "key_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Sign the checkpoint with the private key in FILE.",
        ),
        click.option(
            "--size", type=click.IntRange(min=0), metavar="N", help="The first N entries only.  [default: all]"
        ),
    ):
        command = option(command)
    return command


def tell_if_unsealed(covered: Covered) -> None:
    if not covered.is_sealed:
        say_aside("forum: the ledger is not sealed: it may still grow, or its end may be missing")
