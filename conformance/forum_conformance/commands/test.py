"""`forum-conformance test`: run every vector against a program and report whether it conforms."""

import argparse
import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forum_conformance import __version__
from forum_conformance.commands.arguments import level_list, positive_int, seconds
from forum_conformance.commands.console import say
from forum_conformance.commands.exit_codes import ExitCode, UsageError
from forum_conformance.commands.report_files import (
    refuse_unwritable_reports,
    write_expected_failures,
    write_reports,
)

if TYPE_CHECKING:
    from forum_conformance.results.document import SuiteRun
    from forum_conformance.suite.case import Case
    from forum_conformance.suite.result import Result
    from forum_conformance.suite.session import Settings
    from forum_conformance.suite.vectors import Vectors

_ROLES = ("canonicalize", "compile", "verify", "prove", "run")
# Do not start a missing program, or one that does not implement the protocol, thousands of times.
_ABANDON_AFTER = 20
_DESCRIPTION = """Run every vector of the offered roles against a program and report whether it conforms.

Exits 0 if all vectors pass, 1 if not, 2 for a usage error, broken vectors or a program that cannot be started."""


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "test",
        help="run the vectors against a program",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("--entrypoint", metavar="CMD", help="the program's command; the suite appends the role as an argument")
    add("--role", metavar="ROLE", action="append", choices=_ROLES, help=f"one of {', '.join(_ROLES)}; may be repeated")
    add("--level", metavar="LEVELS", type=level_list, help="levels to request from verify, such as 1,2,5 or 1-3")
    add("--filter", metavar="TEXT", action="append", help="an id, a part of one, or a pattern; may be repeated")
    add("--requirement", metavar="ID", action="append", help="a requirement id, or a pattern; may be repeated")
    add("--xfail", metavar="FILE", type=Path, help="expected failures: one line 'id: reason' each")
    add("--jobs", metavar="N", type=positive_int, help="number of parallel processes [default: number of cores]")
    add("--serve", action="store_true", help="keep the program running and send one request per line")
    add("--timeout", metavar="S", type=seconds, default=30.0, help="timeout per answer in seconds [default: 30]")
    add("--vectors", metavar="DIR", type=Path, help="the directory with MANIFEST.json [default: the package's vectors]")
    add("--write-xfail", metavar="FILE", type=Path, help="write the failures as a list of expected failures")
    add("--jsonl", metavar="FILE", type=Path, help="write one JSON line per vector")
    add("--junit", metavar="FILE", type=Path, help="write JUnit XML")
    add("--html", metavar="FILE", type=Path, help="write an HTML page")
    add("--badges", metavar="DIR", type=Path, help="write a badge for each role and level")
    add("--json", action="store_true", help="print one JSON document; with --list, one line per vector")
    add("--progress", choices=("auto", "tty", "plain", "none"), default="auto", help="how to show progress on stderr")
    add("--list", action="store_true", help="print the selected vectors; needs no --entrypoint")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from forum_conformance.suite.expected_failures import BadExpectation
    from forum_conformance.suite.process import CannotStart
    from forum_conformance.suite.selection import NothingSelected
    from forum_conformance.suite.vectors import BrokenVectors

    try:
        return _run(arguments)
    except (BadExpectation, BrokenVectors, CannotStart, NothingSelected) as error:
        raise UsageError(str(error)) from error


def _run(arguments: argparse.Namespace) -> int:
    from forum_conformance.suite.orphan_processes import killing_orphans
    from forum_conformance.suite.selection import select
    from forum_conformance.suite.vectors import Vectors, default_folder

    vectors = Vectors(arguments.vectors or default_folder())
    cases = select(vectors.cases.values(), arguments.role or (), arguments.filter or (), arguments.requirement or ())
    if arguments.list:
        say(_listing(cases, arguments))
        return ExitCode.OK
    if arguments.entrypoint is None:
        raise UsageError("--entrypoint CMD is required")
    for name in ("filter", "requirement"):
        if arguments.badges and getattr(arguments, name):
            raise UsageError(f"a badge covers every vector of a role: use --badges without --{name}")
    refuse_unwritable_reports(arguments)
    with killing_orphans():
        return _test(arguments, vectors, cases)


def _listing(cases: "list[Case]", arguments: argparse.Namespace) -> str:
    from forum_conformance.results.listing import listing_json, listing_text

    if arguments.json:
        return listing_json(cases, arguments.level)
    # Without a heading, every line that a pipe receives is a vector.
    return listing_text(cases, arguments.level, has_heading=sys.stdout.isatty())


def _test(arguments: argparse.Namespace, vectors: "Vectors", cases: "list[Case]") -> int:
    from forum_conformance.commands.progress import Progress
    from forum_conformance.results.summary import find_objections
    from forum_conformance.suite.result import assign_states
    from forum_conformance.suite.session import run_vectors

    reasons = _expected_failures(arguments.xfail, vectors)
    suite_run = _suite_run(arguments, vectors)
    progress = Progress(sys.stderr, arguments.progress, total=len(cases), expected_failures=reasons, results=sys.stdout)
    try:
        session = run_vectors(cases, vectors, _settings(arguments, reasons), progress.report)
    finally:
        progress.end()
    results = assign_states(session.outcomes, reasons, Counter(case.role for case in vectors.cases.values()))
    objections = [*find_objections(results, arguments.role or ()), *session.exit_problems]
    _report(arguments, suite_run, results, objections, total=len(cases), was_interrupted=session.was_interrupted)
    if arguments.write_xfail:
        write_expected_failures(arguments.write_xfail, results, reasons)
    if session.was_interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.NOT_PASSED if objections else ExitCode.OK


def split_entrypoint(entrypoint: str) -> tuple[str, ...]:
    """The words of a command, with absolute paths."""
    from forum_conformance.suite.client import absolute_command

    try:
        words = shlex.split(entrypoint)
    except ValueError as error:
        raise UsageError(f"cannot split the entrypoint '{entrypoint}' into words: {error}") from error
    if not words or not words[0]:
        raise UsageError("the entrypoint is empty")
    return absolute_command(words, Path.cwd())


def _settings(arguments: argparse.Namespace, expected_failures: Collection[str]) -> "Settings":
    from forum_conformance.suite.session import Settings

    return Settings(
        command=split_entrypoint(arguments.entrypoint),
        timeout_s=arguments.timeout,
        jobs=arguments.jobs or os.cpu_count() or 1,
        is_served=arguments.serve,
        levels=arguments.level,
        abandon_after=_ABANDON_AFTER,
        expected_failures=frozenset(expected_failures),
    )


def _expected_failures(path: Path | None, vectors: "Vectors") -> dict[str, str]:
    from forum_conformance.suite.expected_failures import read_expected_failures

    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not UTF-8") from error
    return read_expected_failures(text, name=str(path), known_ids=vectors.cases)


def _report(
    arguments: argparse.Namespace,
    suite_run: "SuiteRun",
    results: "list[Result]",
    objections: list[str],
    *,
    total: int,
    was_interrupted: bool,
) -> None:
    from forum_conformance.results.document import suite_document
    from forum_conformance.results.text import results_text

    # Print first: if a report file cannot be written, the results are not lost.
    if arguments.json:
        document = suite_document(results, suite_run, objections, was_interrupted=was_interrupted)
        say(json.dumps(document, indent=2) + "\n")
    else:
        say(results_text(results, suite_run, objections, total=total))
    write_reports(arguments, results, suite_run, objections, total)


def _suite_run(arguments: argparse.Namespace, vectors: "Vectors") -> "SuiteRun":
    from forum_conformance.results.document import SuiteRun, SuiteVersion

    options: list[str] = []
    if arguments.level:
        options += ["--level", ",".join(map(str, sorted(arguments.level)))]
    if arguments.serve:
        options.append("--serve")
    if arguments.vectors:
        options += ["--vectors", str(arguments.vectors)]
    suite = SuiteVersion(__version__, vectors.manifest_digest, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return SuiteRun(arguments.entrypoint, tuple(options), suite, arguments.level)
