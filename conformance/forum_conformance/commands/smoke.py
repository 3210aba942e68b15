"""`forum-conformance smoke`: check that the suite works and that a program implements the protocol."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forum_conformance.commands.arguments import level_list, seconds
from forum_conformance.commands.console import say
from forum_conformance.commands.exit_codes import ExitCode, UsageError

if TYPE_CHECKING:
    from forum_conformance.suite.result import VectorOutcome
    from forum_conformance.suite.session import Settings
    from forum_conformance.suite.vectors import Vectors

_DESCRIPTION = """Check the suite itself, then send a program one small request of each role.

Exits 0 if the program offers a role and implements the protocol in each offered role, otherwise 1."""

_HINTS = {
    "exit status": "exit with 0 after an answer, whatever its verdict, and with 33 if the role is not offered",
    "standard output": "print one JSON object and nothing else; write messages for people to standard error",
    "answer": 'an answer is an object such as {"protocol": 1, "verdict": "valid"}',
    "id": "omit `id`, or repeat the id of the request",
    "time": "read the request from standard input up to its end, answer, and exit; or pass --timeout S",
    "process": "with --serve, answer each line with one line, and continue until standard input is closed",
}
_HINT_SERVE_TIME = "with --serve, answer each line as soon as it is read, and flush the answer; or pass --timeout S"
_HINT_LEVELS = "if it checks only some levels, pass --level, such as --level 1-2"
_HINT_UNSUPPORTED = "to refuse a role entirely, exit with status 33"


class HarnessProblem(Exception):
    """The suite does not detect a known fault, so its results cannot be trusted."""


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "smoke",
        help="check that a program implements the protocol",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("--entrypoint", metavar="CMD", required=True, help="the program's command")
    add("--serve", action="store_true", help="keep the program running and send one request per line")
    add("--level", metavar="LEVELS", type=level_list, help="levels to request from verify, such as 1,2,5 or 1-3")
    add("--timeout", metavar="S", type=seconds, default=30.0, help="timeout per answer in seconds [default: 30]")
    add("--vectors", metavar="DIR", type=Path, help="the directory with MANIFEST.json [default: the package's vectors]")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from forum_conformance.suite.orphan_processes import killing_orphans
    from forum_conformance.suite.process import CannotStart
    from forum_conformance.suite.vectors import BrokenVectors, Vectors, default_folder

    try:
        vectors = Vectors(arguments.vectors or default_folder())
        say(f"vectors: {len(vectors.cases)}, and all {vectors.check_all()} files match their digests\n")
        _check_harness()
        with killing_orphans():
            return _check_program(arguments, vectors)
    except (BrokenVectors, CannotStart) as error:
        raise UsageError(str(error)) from error


def _check_harness() -> None:
    from forum_conformance.suite.self_check import KNOWN_PROGRAMS, is_judged_correctly

    for program in KNOWN_PROGRAMS:
        if not is_judged_correctly(program):
            expected = f"does not fail at '{program.place}'" if program.place else "does not pass"
            raise HarnessProblem(f"the known program '{program.name}' {expected}")
    faulty = ", ".join(program.name for program in KNOWN_PROGRAMS if program.place)
    say(f"harness: fails programs that are {faulty}; passes one that is right\n")


def _check_program(arguments: argparse.Namespace, vectors: "Vectors") -> int:
    from forum_conformance.commands.test import split_entrypoint
    from forum_conformance.suite.case import ROLES
    from forum_conformance.suite.self_check import run_one_by_one, smallest_vectors
    from forum_conformance.suite.session import Settings

    smallest = smallest_vectors(vectors)
    cases = [smallest[role] for role in ROLES if role in smallest]
    command = split_entrypoint(arguments.entrypoint)
    settings = Settings(command, arguments.timeout, jobs=1, is_served=arguments.serve, levels=arguments.level)
    is_offered, follows_protocol = False, True
    for outcome in run_one_by_one(settings, cases, vectors):
        sentence, hint = _describe(outcome, settings)
        say(f"{outcome.case.role:<12}  {sentence}\n" + (f"{'':<12}  hint: {hint}\n" if hint else ""))
        is_offered |= _is_offered(outcome, settings)
        follows_protocol &= outcome.reply is None or outcome.reply.is_not_offered or outcome.reply.problem is None
    if not is_offered and follows_protocol:
        say("the program offers no role\n")
    return ExitCode.OK if is_offered and follows_protocol else ExitCode.NOT_PASSED


def _is_offered(outcome: "VectorOutcome", settings: "Settings") -> bool:
    """Whether the program offers the role. With --serve, `unsupported` can also mean that it does not."""
    reply = outcome.reply
    if reply is None or reply.is_not_offered or reply.problem is not None:
        return False
    return not (reply.is_unsupported and settings.is_served)


def _describe(outcome: "VectorOutcome", settings: "Settings") -> tuple[str, str | None]:
    """The line of a role, and a hint; None if there is no hint."""
    from forum_conformance.results.printable import printable

    reply = outcome.reply
    if reply is None or reply.is_not_offered:
        return "not offered", None
    if reply.problem is not None:
        problem = reply.problem
        sentence = f"violates the protocol: {problem.place}: expected {problem.expected}, got {problem.actual}"
        is_serve_timeout = problem.place == "time" and settings.is_served
        return printable(sentence), _HINT_SERVE_TIME if is_serve_timeout else _HINTS.get(problem.place)
    if reply.is_unsupported:
        return _describe_unsupported(outcome, settings)
    if outcome.differences:
        first = outcome.differences[0]
        sentence = f"offered, but the answer to {outcome.case.id} is wrong: {first.place}: expected {first.expected}"
        hint = f"forum-conformance test --role {outcome.case.role} shows details"
        return printable(f"{sentence}, got {first.actual}"), hint
    return f"offered, and the answer to {outcome.case.id} is right", None


def _describe_unsupported(outcome: "VectorOutcome", settings: "Settings") -> tuple[str, str | None]:
    hint = _HINT_LEVELS if outcome.case.role == "verify" and settings.levels is None else None
    if settings.is_served:
        return f"not offered: answers {outcome.case.id} with 'unsupported'", hint
    hints = [text for text in (hint, _HINT_UNSUPPORTED) if text]
    return f"offered, but answers {outcome.case.id} with 'unsupported'", "; ".join(hints)
