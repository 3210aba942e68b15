"""Options that several commands share."""

from __future__ import annotations

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


class _RunDirectory(click.Path):
    """The name of a run directory."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        # It would mean the current directory, but is most often an unset variable in a script.
        if value == "":
            self.fail("the name of the directory is empty", param, ctx)
        return super().convert(value, param, ctx)


RUN_DIRECTORY = _RunDirectory(path_type=Path)


def bundle_options(command: _Command) -> _Command:
    """--root, --input and --inputs."""
    for option in (
        click.option(
            "--inputs",
            "inputs_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Read inputs from a YAML or JSON file.",
        ),
        click.option("--input", "input_texts", multiple=True, metavar="NAME=VALUE", help="Set an input. Repeatable."),
        click.option(
            "--root",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Set the bundle's root.  [default: the file's folder]",
        ),
    ):
        command = option(command)
    return command


def read_inputs(texts: tuple[str, ...], file: Path | None) -> Inputs:
    from forum_runner.api import Inputs

    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"'{text}' does not have the form NAME=VALUE", param_hint="--input")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise click.BadParameter(f"the value of '{name}' is not valid UTF-8", param_hint="--input") from None
        given[name] = value
    return Inputs(given, file)


def output_path(output: str | None) -> Path | None:
    """The file to write; None for standard output."""
    return None if output in (None, "-") else Path(output)
