"""`forum conform`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from forum_runner.commands.output import say_aside, write_document

if TYPE_CHECKING:
    from forum_runner.app.conformance import Request

SERVE = "serve"
_UNSUPPORTED = 33


@click.command("conform", short_help="Answer the conformance suite, as a program under test.")
@click.argument("role")
def command(role: str) -> int:
    """Answer the conformance suite, as a program under test.

    ROLE is canonicalize, compile, verify, prove or run: one request is read from standard input, and its answer
    printed. With `serve` in its place there is a request on each line, and each is answered before the next is read.

    Exits 0 if it answered, 33 if there is no such role, and 2 if what came is no request.
    """
    from forum_runner.app.conformance import ROLES, read_request

    if role == SERVE:
        return _serve()
    if role not in ROLES:
        say_aside(f"forum: there is no role '{role}'; there are {', '.join(ROLES)}")
        return _UNSUPPORTED
    _answer(read_request(sys.stdin.buffer.read(), role))
    return 0


def _serve() -> int:
    """An error ends it: whoever asked gets no line for an answer, and starts another."""
    from forum_runner.app.conformance import read_request
    from forum_runner.commands.run_options import keep_memory_in_check

    keep_memory_in_check()
    for line in sys.stdin.buffer:
        _answer(read_request(line))
    return 0


def _answer(request: Request) -> None:
    import json

    from forum_runner.app.conformance import answer

    write_document(json.dumps(answer(request)) + "\n")
