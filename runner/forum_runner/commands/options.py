"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from forum_runner.app.workflows import Inputs

_Command = TypeVar("_Command", bound=Callable[..., Any])


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
