"""The command `forum-conformance`: reads arguments, asks the judge, and turns every ending into an exit code."""

import argparse
import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from forum_conformance.judge import ALL_LEVELS, Given, NoLedger, judge, judge_stream
from forum_conformance.note import MAX_BYTES, Checkpoint, MalformedCheckpoint, MalformedKey, PublicKey, read_public_key
from forum_conformance.pin import read_pin, replace_pin
from forum_conformance.report import Report, Verdict, document_of, text_of

_PROGRAM = "forum-conformance"


class ExitCode(IntEnum):
    OK = 0
    USAGE = 2
    NOT_VERIFIED = 3
    INCOMPLETE = 7
    DEFECT = 70
    INTERRUPTED = 130


_EXIT_CODES = {
    Verdict.VALID: ExitCode.OK,
    Verdict.INVALID: ExitCode.NOT_VERIFIED,
    Verdict.INCOMPLETE: ExitCode.INCOMPLETE,
}


class UsageError(Exception):
    """The command cannot do what it was asked."""


def main(argv: Sequence[str] | None = None) -> int:
    try:
        return _run(argv)
    except (UsageError, NoLedger) as error:
        return _fail(ExitCode.USAGE, str(error))
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        return _fail(ExitCode.USAGE, f"cannot read or write{where}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail(ExitCode.INTERRUPTED, "interrupted")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        sentence = f"this is a defect of forum itself: {type(error).__name__} in {where}: {error}"
        return _fail(ExitCode.DEFECT, f"{sentence}\nPlease report it to the project's issue tracker.")


def _fail(code: ExitCode, message: str) -> int:
    _write(sys.stderr, f"{_PROGRAM}: {message}\n")
    return code


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _run(argv: Sequence[str] | None) -> int:
    arguments = _parser().parse_args(argv)
    is_bare = arguments.path == "-" or not Path(arguments.path).is_dir()
    levels = _levels(arguments, is_bare=is_bare)
    given = Given(
        expected_head=arguments.expect_head,
        checkpoint=_read(arguments.checkpoint) if arguments.checkpoint else None,
        key=_read_key(arguments.key) if arguments.key else None,
        pin=_read_pin(arguments.pin) if arguments.pin else None,
    )
    has_checkpoint = given.checkpoint is not None or (not is_bare and (Path(arguments.path) / "checkpoint").exists())
    if given.key and not has_checkpoint:
        raise UsageError("there is no checkpoint that the key could have signed; give --checkpoint FILE")
    if arguments.path == "-":
        report = judge_stream(sys.stdin.buffer, levels=levels, given=given)
    else:
        report = judge(Path(arguments.path), levels=levels, given=given)
    if arguments.pin and report.verdict is Verdict.VALID:
        replace_pin(arguments.pin, report.facts)
    _say(report, as_json=arguments.json)
    return _EXIT_CODES[report.verdict]


def _say(report: Report, *, as_json: bool) -> None:
    text = json.dumps(document_of(report), indent=2) + "\n" if as_json else text_of(report)
    try:
        _write(sys.stdout, text)
        sys.stdout.flush()
    except BrokenPipeError:
        # A reader that has seen enough is no reason for another exit code; what is left must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROGRAM, description="Judges ledgers, whoever wrote them.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("judge", help="say whether a ledger holds", description="Say whether a ledger holds.")
    command.add_argument("path", metavar="PATH", help="a run directory, a ledger.jsonl, or - for standard input")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.add_argument("--level", metavar="LEVELS", type=_level_list, help="levels to check, such as 1,2,5 or 1-3")
    command.add_argument("--expect-head", metavar="HASH", type=_head, help="the hash that the last line must have")
    command.add_argument("--checkpoint", metavar="FILE", type=Path, help="a checkpoint that must hold")
    command.add_argument("--key", metavar="FILE", type=Path, help="the public key that must have signed the checkpoint")
    command.add_argument("--pin", metavar="FILE", type=Path, help="where to remember what was last called valid")
    return parser


def _level_list(text: str) -> frozenset[int]:
    levels: set[int] = set()
    for part in text.split(","):
        if not re.fullmatch(r"[1-5](-[1-5])?", part):
            raise argparse.ArgumentTypeError(f"'{text}' is not a list of levels from 1 to 5, such as 1,2,5 or 1-3")
        first, _, last = part.partition("-")
        levels |= set(range(int(first), int(last or first) + 1))
    if not levels:
        raise argparse.ArgumentTypeError(f"'{text}' names no level")
    return frozenset(levels)


def _head(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError("a head is 64 lower-case hexadecimal digits")
    return text


def _levels(arguments: argparse.Namespace, *, is_bare: bool) -> frozenset[int]:
    asked: frozenset[int] | None = arguments.level
    if asked is None:
        return ALL_LEVELS
    if is_bare and asked & {3, 4}:
        raise UsageError("levels 3 and 4 need the run directory, and this is a bare ledger")
    compared = ("--expect-head", "--checkpoint", "--key", "--pin")
    for option in compared:
        if 5 not in asked and getattr(arguments, option[2:].replace("-", "_")) is not None:
            raise UsageError(f"{option} is a matter of level 5, which --level leaves out")
    return asked


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _read_pin(path: Path) -> Checkpoint | None:
    try:
        return read_pin(path)
    except MalformedCheckpoint as error:
        raise UsageError(f"'{path}' is not a pin: {error}") from error


def _read_key(path: Path) -> PublicKey:
    try:
        return read_public_key(_read(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not a public key: it is not UTF-8") from error
    except MalformedKey as error:
        raise UsageError(f"'{path}' is not a public key: {error}") from error
