"""The command `forum conform`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from forum_runner.commands.output import echo_err, write_document

if TYPE_CHECKING:
    from forum_runner.conformance import SuiteRequest

SERVE = "serve"
_UNSUPPORTED_EXIT_CODE = 33


@click.command("conform", short_help="Answer the conformance suite as the program under test.")
@click.argument("role")
def command(role: str) -> int:
    """Answer the conformance suite as the program under test.

    ROLE is canonicalize, compile, verify, prove or run: reads one request from standard input and prints the answer.
    With `serve` as the ROLE, reads a request per line and answers each before it reads the next.

    Exits 0 if it answered, 33 if it does not know the role, and 2 if the input is not a request.
    """
    from forum_runner.conformance import ROLES, read_request

    if role == SERVE:
        return _serve()
    if role not in ROLES:
        echo_err(f"forum: unknown role '{role}'; the roles are {', '.join(ROLES)}")
        return _UNSUPPORTED_EXIT_CODE
    _answer(read_request(sys.stdin.buffer.read(), role))
    return 0


def _serve() -> int:
    """Answers requests until the first error. The suite then gets no answer, and restarts the program."""
    from forum_runner.commands.run_options import enable_garbage_collection
    from forum_runner.conformance import read_request

    enable_garbage_collection()
    for line in sys.stdin.buffer:
        _answer(read_request(line))
    return 0


def _answer(request: SuiteRequest) -> None:
    import json

    from forum_runner.commands.event_loop import run_main
    from forum_runner.conformance import answer

    write_document(json.dumps(run_main(answer(request))) + "\n")
