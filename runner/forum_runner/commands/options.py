"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner.workspace import Workspace

if TYPE_CHECKING:
    from forum_runner.api import Inputs

_Command = TypeVar("_Command", bound=Callable[..., Any])
# Relative to the current directory, so that messages show paths as they were typed.
WORKSPACE = Workspace(Path())
FILE = click.Path(path_type=Path)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _RunDirectory(click.Path):
    """The name of a run directory."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        # An empty name would mean the current directory, but it is most often an unset variable in a script.
        if value == "":
            self.fail("the name of the directory is empty", param, ctx)
        return super().convert(value, param, ctx)


def _login_name() -> str:
    """The login name of the user; empty if it is unknown, and then the API refuses it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


BY = click.option(
    "--by",
    default=_login_name,
    metavar="NAME",
    help="Set your name, as the ledger records it (ASCII, no spaces).  [default: your login name]",
)
RUN_DIRECTORY = _RunDirectory(path_type=Path)
OUT = click.option(
    "--out", type=RUN_DIRECTORY, metavar="DIR", help="Use DIR as the run directory.  [default: .forum/runs/ID]"
)
ROOT = click.option("--root", type=FILE, metavar="DIR", help="Set the bundle's root.  [default: the file's folder]")


def combine_options(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """One decorator for several options, which `--help` lists in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


bundle_options = combine_options(
    ROOT,
    click.option("--input", "input_texts", multiple=True, metavar="NAME=VALUE", help="Set an input. Repeatable."),
    click.option("--inputs", "inputs_file", type=FILE, metavar="FILE", help="Read inputs from a YAML or JSON file."),
)


checkpoint_options = combine_options(
    click.option(
        "--size", type=click.IntRange(min=0), metavar="N", help="Cover only the first N entries.  [default: all]"
    ),
    click.option(
        "--key", "key_file", type=FILE, metavar="FILE", help="Sign the checkpoint with the private key in FILE."
    ),
    click.option("-o", "--output", metavar="PATH", help="Write to PATH.  [default: standard output]"),
)


def read_inputs(texts: tuple[str, ...], file: Path | None) -> Inputs:
    from forum_runner.api import Inputs

    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"'{text}' does not have the form NAME=VALUE", param_hint="--input")
        if value.encode(errors="ignore").decode() != value:
            raise click.BadParameter(f"the value of '{name}' is not valid UTF-8", param_hint="--input")

        values[name] = value
    return Inputs(values, file)


def output_path(output: str | None, as_json: bool = False) -> Path | None:
    """The file to write; None for standard output, where --json prints."""
    if as_json and output not in (None, "-"):
        raise click.UsageError("--json prints to standard output and -o writes to a file; use one of them")
    return None if output in (None, "-") else Path(output)
