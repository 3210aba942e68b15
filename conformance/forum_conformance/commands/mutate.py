"""`forum-conformance mutate`: test a verifier with mutants of a valid ledger."""

import argparse
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

from forum_conformance.commands.arguments import level_list, positive_int, seconds
from forum_conformance.commands.console import say
from forum_conformance.commands.exit_codes import ExitCode, UsageError
from forum_conformance.commands.test import split_entrypoint

if TYPE_CHECKING:
    from forum_conformance.mutation.engine import Mutant
    from forum_conformance.mutation.scoring import VerifierReply, Verify
    from forum_conformance.report import Report

_DESCRIPTION = """Create mutants of a valid run directory, each with one change, and run a verifier on each.

Exits 0 if the verifier caught every mutant that a verifier can catch, 1 if one survived or the verifier does not
call the original valid, 2 for a usage error or if the original ledger is not valid."""
_DEFAULT_PER_KIND = 3
_STDERR_LINES = 20


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "mutate",
        help="test a verifier with mutants of a valid ledger",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("path", metavar="PATH", type=Path, nargs="?", help="a valid run directory")
    add("--entrypoint", metavar="CMD", help="command that starts the verifier [default: the built-in judge]")
    add("--serve", action="store_true", help="keep the verifier running and send one request per line")
    add("--jobs", metavar="N", type=positive_int, help="number of parallel processes [default: number of cores]")
    add("--timeout", metavar="S", type=seconds, default=30.0, help="timeout per answer in seconds [default: 30]")
    add("--level", metavar="LEVELS", type=level_list, help="check these levels, with mutants that they can detect")
    add("--seed", metavar="N", type=int, default=1, help="the seed that selects mutants [default: 1]")
    add("--limit", metavar="N", type=positive_int, help="maximum number of mutants")
    add(
        "--each",
        metavar="N",
        type=positive_int,
        help=f"maximum number of each kind [default: {_DEFAULT_PER_KIND}, or up to --limit]",
    )
    add("--kinds", metavar="GLOB", default="*", help="create only these kinds, such as 'archive-*'")
    add("--list", action="store_true", help="print the kinds and run nothing")
    add("--json", action="store_true", help="print one JSON document")
    add("--keep", metavar="DIR", type=Path, help="write the run directories of survivors to this directory")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from forum_conformance.mutation.engine import kinds_matching
    from forum_conformance.suite.process import CannotStart

    kinds = kinds_matching(arguments.kinds)
    if not kinds:
        raise UsageError(
            f"no kind of mutant matches '{arguments.kinds}'; the kinds are: {', '.join(kinds_matching('*'))}"
        )
    if arguments.list:
        say("".join(f"{kind}\n" for kind in kinds))
        return ExitCode.OK
    if arguments.path is None:
        raise UsageError("PATH is required: a valid run directory")
    original = _judge_original(arguments.path)
    # A verifier may compare paths with their resolved form.
    with TemporaryDirectory(prefix="forum-conformance-", ignore_cleanup_errors=True) as folder:
        work_dir = Path(os.path.realpath(folder))
        try:
            stop = Event()
            with _open_verifier(arguments, work_dir, stop) as verify:
                return _score(arguments, original, verify, work_dir, stop)
        except CannotStart as error:
            raise UsageError(str(error)) from error


def _judge_original(path: Path) -> "Report":
    from forum_conformance.judge import NoLedger, judge
    from forum_conformance.report import Verdict, report_text

    if path.exists() and not path.is_dir():
        raise UsageError(f"'{path}' is not a run directory")
    try:
        report = judge(path)
    except NoLedger as error:
        raise UsageError(str(error)) from error
    if report.verdict is not Verdict.VALID:
        raise UsageError(
            f"the ledger in '{path}' is not valid, so it cannot be mutated:\n{report_text(report).rstrip()}"
        )
    return report


def _score(arguments: argparse.Namespace, original: "Report", verify: "Verify", work_dir: Path, stop: Event) -> int:
    from forum_conformance.mutation.score_report import Score, score_document, score_text
    from forum_conformance.mutation.scoring import outcomes

    checkpoint = _write_checkpoint(original, work_dir)
    # A copy, because a program under test may change its input.
    reply = verify(Path(shutil.copytree(arguments.path, work_dir / "original")), None)
    if reply.verdict != "valid":
        say(_original_rejected_text(arguments, reply))
        return ExitCode.NOT_PASSED
    score = Score(str(arguments.path), arguments.entrypoint or "the judge", arguments.seed)
    checks_seal = arguments.level is None or 5 in arguments.level
    trusted_checkpoint = checkpoint if checks_seal else None
    mutants = _mutants(arguments, work_dir)
    for outcome in outcomes(mutants, verify, trusted_checkpoint, work_dir, jobs=_jobs(arguments), stop=stop):
        score.count(outcome)
        if arguments.keep and outcome.survived:
            outcome.mutant.apply(arguments.keep / outcome.mutant.name)
    say(json.dumps(score_document(score), indent=2) + "\n" if arguments.json else score_text(score))
    return ExitCode.NOT_PASSED if score.survivors else ExitCode.OK


def _original_rejected_text(arguments: argparse.Namespace, reply: "VerifierReply") -> str:
    from forum_conformance.mutation.verifiers import UNSUPPORTED
    from forum_conformance.results.printable import printable_lines

    if reply.problem == UNSUPPORTED:
        description = "answers 'unsupported'"
        description += "" if arguments.level else " (if it checks only some levels, pass --level, such as --level 1-2)"
    else:
        description = f"calls it {reply.verdict}" if reply.verdict else f"did not answer correctly: {reply.problem}"
    first_line = (
        f"'{arguments.path}' is valid, but the verifier {description}; its verdicts on mutants would prove nothing\n"
    )
    return first_line + "".join(f"  stderr    {line}\n" for line in printable_lines(reply.stderr)[-_STDERR_LINES:])


def _jobs(arguments: argparse.Namespace) -> int:
    """The number of parallel requests: 1 for the judge, which runs in this process and gains nothing from more."""
    return (arguments.jobs or os.cpu_count() or 1) if arguments.entrypoint is not None else 1


def _write_checkpoint(original: "Report", work_dir: Path) -> Path:
    """Write the checkpoint of the original ledger to a file."""
    from forum_conformance.note import checkpoint_text

    facts = original.facts
    path = work_dir / "checkpoint"
    path.write_bytes(checkpoint_text(facts.run or "", facts.entries, bytes.fromhex(facts.root or "")))
    return path


def _mutants(arguments: argparse.Namespace, work_dir: Path) -> "Iterator[Mutant]":
    """The requested mutants. With `--level`, only those that the judge rejects at these levels."""
    from itertools import islice

    from forum_conformance.mutation.engine import mutants
    from forum_conformance.mutation.verifiers import detected_at_levels

    per_kind = arguments.each or (None if arguments.limit else _DEFAULT_PER_KIND)
    selected = mutants(arguments.path, arguments.seed, kinds=arguments.kinds, per_kind=per_kind)
    if arguments.level:
        selected = detected_at_levels(selected, arguments.level, work_dir)
    return islice(selected, arguments.limit)


@contextmanager
def _open_verifier(arguments: argparse.Namespace, work_dir: Path, stop: Event) -> "Iterator[Verify]":
    from forum_conformance.mutation.verifiers import ALL_LEVELS, judge_verifier, program_verifier
    from forum_conformance.suite.client import OneShotClient, Program, ServeClient
    from forum_conformance.suite.orphan_processes import killing_orphans

    levels = arguments.level or ALL_LEVELS
    if arguments.entrypoint is None:
        yield judge_verifier(levels)
        return
    program = Program(split_entrypoint(arguments.entrypoint), arguments.timeout, stop, work_dir)
    client_type = ServeClient if arguments.serve else OneShotClient
    clients = [client_type(program) for _ in range(_jobs(arguments))]
    with killing_orphans():
        try:
            yield program_verifier(clients, levels)
        finally:
            for client in clients:
                client.close()
