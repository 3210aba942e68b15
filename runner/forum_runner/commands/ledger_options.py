"""What `forum checkpoint` and `forum prove` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from forum_runner.commands.output import say_aside

_Command = TypeVar("_Command", bound=Callable[..., Any])


def covering_options(command: _Command) -> _Command:
    """--size, --key and -o."""
    for option in (
        click.option("-o", "--output", metavar="PATH", help="Write to PATH.  [default: standard output]"),
        click.option(
            "--key",
            "key_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Sign the checkpoint with the private key in FILE.",
        ),
        click.option(
            "--size", type=click.IntRange(min=0), metavar="N", help="Cover only the first N entries.  [default: all]"
        ),
    ):
        command = option(command)
    return command


def warn_if_unsealed(*, is_sealed: bool) -> None:
    if not is_sealed:
        say_aside("forum: the ledger is not sealed: it may still grow, or its end may be missing")
