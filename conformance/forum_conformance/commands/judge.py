"""`forum-conformance judge`: judge ledgers, and identify files that are not ledgers."""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forum_conformance.commands.arguments import level_list
from forum_conformance.commands.console import say
from forum_conformance.commands.exit_codes import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forum_conformance.judge import OutsideEvidence
    from forum_conformance.note import Checkpoint, PublicKey
    from forum_conformance.report import Report
    from forum_conformance.targets import Target

_EXIT_CODES = {"valid": ExitCode.OK, "invalid": ExitCode.NOT_VERIFIED, "incomplete": ExitCode.INCOMPLETE}
# Invalid takes precedence over incomplete, and both over records that could not be judged.
_WORST_FIRST = (ExitCode.NOT_VERIFIED, ExitCode.INCOMPLETE, ExitCode.USAGE, ExitCode.OK)
_SINGLE_LEDGER_OPTIONS = ("--expect-head", "--checkpoint", "--pin")
_DESCRIPTION = """Judge ledgers. A PATH is a run directory, a ledger, a directory of run directories, or - for
standard input. Links in a directory are not followed. Exits 0 if all ledgers are valid, 3 if one is invalid, 7 if one
is incomplete, 2 if one is missing or cannot be read. If several apply, the first of 3, 7, 2 is used."""


def add_to(commands: Any) -> None:
    command = commands.add_parser("judge", help="judge ledgers", description=_DESCRIPTION)
    command.add_argument(
        "paths", metavar="PATH", nargs="+", help="run directories, ledgers, directories of run directories, or -"
    )
    output_format = command.add_mutually_exclusive_group()
    output_format.add_argument(
        "--json", action="store_true", help="print the report of one ledger as JSON; for several, same as --jsonl"
    )
    output_format.add_argument(
        "--jsonl", action="store_true", help="print {path, report, error} for each ledger, one per line"
    )
    command.add_argument("--level", metavar="LEVELS", type=level_list, help="levels to check, such as 1,2,5 or 1-3")
    command.add_argument("--expect-head", metavar="HASH", type=_head_hash, help="require this hash of the last line")
    command.add_argument("--checkpoint", metavar="FILE", type=Path, help="require the ledger to match this checkpoint")
    command.add_argument(
        "--key", metavar="FILE", type=Path, help="require the checkpoint to be signed with this public key"
    )
    command.add_argument(
        "--pin",
        metavar="FILE",
        type=Path,
        help="compare with the last valid state in this file; update it if the ledger is valid",
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from forum_conformance.targets import target_at, targets_at

    if "" in arguments.paths:
        raise UsageError("a path is empty")
    targets_by_path = [targets_at(path) for path in arguments.paths]
    is_one = targets_by_path == [None]
    for option in () if is_one else _SINGLE_LEDGER_OPTIONS:
        if _value_of(arguments, option) is not None:
            raise UsageError(f"{option} applies to a single ledger, but several were given")
    if arguments.paths.count("-") > 1:
        raise UsageError("standard input can be judged only once")
    evidence = _evidence(arguments)
    if is_one and not arguments.jsonl:
        return _judge_one(arguments, target_at(arguments.paths[0]), evidence)
    return _judge_several(
        arguments,
        (
            target
            for path, inner in zip(arguments.paths, targets_by_path, strict=True)
            for target in inner or [target_at(path)]
        ),
        evidence,
    )


def _judge_one(arguments: argparse.Namespace, target: "Target", evidence: "OutsideEvidence") -> int:
    from forum_conformance.report import report_document, report_text

    report = _judge(arguments, target, evidence)
    say(json.dumps(report_document(report), indent=2) + "\n" if arguments.json else report_text(report))
    return _EXIT_CODES[report.verdict]


def _judge_several(arguments: argparse.Namespace, targets: "Iterator[Target]", evidence: "OutsideEvidence") -> int:
    from forum_conformance.batch_report import VerdictCounts, json_line, ledger_text

    is_json = arguments.json or arguments.jsonl
    counts = VerdictCounts()
    codes = set()
    for target in targets:
        report, error = None, target.fault
        try:
            report = None if error else _judge(arguments, target, evidence)
        except UsageError as usage_error:
            error = str(usage_error)
        codes.add(_EXIT_CODES[report.verdict] if report else ExitCode.USAGE)
        counts.count(report)
        say(json_line(target.name, report, error) if is_json else ledger_text(target.name, report, error))
    if not is_json:
        say(counts.text())
    return next(code for code in _WORST_FIRST if code in codes)


def _judge(arguments: argparse.Namespace, target: "Target", evidence: "OutsideEvidence") -> "Report":
    from forum_conformance.judge import ALL_LEVELS, NoLedger
    from forum_conformance.pin import replace_pin
    from forum_conformance.report import Verdict
    from forum_conformance.targets import judge_target

    levels = _levels(arguments, is_bare=target.is_bare) or ALL_LEVELS
    if evidence.key and evidence.checkpoint is None and not target.has_checkpoint:
        raise UsageError("no checkpoint to verify with the key; pass --checkpoint FILE")
    try:
        report = judge_target(target, sys.stdin.buffer, levels=levels, evidence=evidence)
    except NoLedger as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot read '{error.filename or target.name}': {error.strerror or error}") from error
    if arguments.pin and report.verdict is Verdict.VALID:
        replace_pin(arguments.pin, report.facts)
    return report


def _evidence(arguments: argparse.Namespace) -> "OutsideEvidence":
    from forum_conformance.judge import OutsideEvidence

    return OutsideEvidence(
        expected_head=arguments.expect_head,
        checkpoint=_read(arguments.checkpoint) if arguments.checkpoint else None,
        key=_read_key(arguments.key) if arguments.key else None,
        pin=_read_pin(arguments.pin) if arguments.pin else None,
    )


def _value_of(arguments: argparse.Namespace, option: str) -> Any:
    return getattr(arguments, option[2:].replace("-", "_"))


def _head_hash(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError("a head is 64 lower-case hexadecimal digits")
    return text


def _levels(arguments: argparse.Namespace, *, is_bare: bool) -> frozenset[int] | None:
    requested: frozenset[int] | None = arguments.level
    if requested is None:
        return None
    if is_bare and requested & {3, 4}:
        raise UsageError("levels 3 and 4 require the run directory, not a bare ledger")
    for option in (*_SINGLE_LEDGER_OPTIONS, "--key"):
        if 5 not in requested and _value_of(arguments, option) is not None:
            raise UsageError(f"{option} requires level 5, which --level excludes")
    return requested


def _read(path: Path) -> bytes:
    from forum_conformance.note import MAX_BYTES

    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _read_pin(path: Path) -> "Checkpoint | None":
    from forum_conformance.note import MalformedCheckpoint
    from forum_conformance.pin import read_pin

    try:
        return read_pin(path)
    except MalformedCheckpoint as error:
        raise UsageError(f"'{path}' is not a valid pin file: {error}") from error


def _read_key(path: Path) -> "PublicKey":
    from forum_conformance.note import MalformedKey, read_public_key

    try:
        return read_public_key(_read(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not a public key: it is not UTF-8") from error
    except MalformedKey as error:
        raise UsageError(f"'{path}' is not a public key: {error}") from error
