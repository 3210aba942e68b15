"""The two modes of the protocol: one process per request, and one process for all."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from forum_conformance.program.answer import Answer, BadRequest, Request, Role
from forum_conformance.program.canonicalize import canonicalize
from forum_conformance.program.prove import prove
from forum_conformance.program.verify import verify

Program: TypeAlias = Mapping[str, Role]

JUDGE_ROLES: Program = {"canonicalize": canonicalize, "verify": verify, "prove": prove}

NOT_OFFERED = 33
USAGE = 2


def main(program: Program, argv: Sequence[str] | None = None) -> int:
    """Run the program: a role and one request on standard input, or `serve` and one request per line."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments == ["serve"]:
        for line in sys.stdin.buffer:
            _print_answer(program, json.loads(line))
        return 0
    if len(arguments) != 1:
        sys.stderr.write("usage: one argument, a role or 'serve'\n")
        return USAGE
    if arguments[0] not in program:
        return NOT_OFFERED
    _print_answer(program, json.loads(sys.stdin.buffer.read()))
    return 0


def _print_answer(program: Program, request: Request) -> None:
    sys.stdout.write(json.dumps(_answer(program, request).document(request)) + "\n")
    sys.stdout.flush()


def _answer(program: Program, request: Request) -> Answer:
    role = program.get(request["role"])
    if role is None:
        return Answer("unsupported", message=f"the role {request['role']} is not offered")
    try:
        return role(request)
    except (BadRequest, OSError) as error:
        return Answer("unsupported", message=str(error))
