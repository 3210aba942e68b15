"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from forum_runner.app.workflows import Inputs

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _RunDirectory(click.Path):
    """The name of a directory that is to hold a run."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        # It would be the current directory, and is most often a variable of a script that is not set.
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
            help="Inputs from a YAML or JSON file.",
        ),
        click.option("--input", "input_texts", multiple=True, metavar="NAME=VALUE", help="An input; may be repeated."),
        click.option(
            "--root",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="The bundle's root.  [default: the file's folder]",
        ),
    ):
        command = option(command)
    return command


def read_inputs(texts: tuple[str, ...], file: Path | None) -> Inputs:
    from forum_runner.app.workflows import Inputs

    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"'{text}' is not of the form NAME=VALUE", param_hint="--input")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise click.BadParameter(f"the value of '{name}' is not valid UTF-8", param_hint="--input") from None
        given[name] = value
    return Inputs(given, file)
