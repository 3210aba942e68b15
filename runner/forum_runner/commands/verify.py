"""The command `forum verify`."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import FILE, JSON, WORKSPACE
from forum_runner.commands.output import echo, wants_color, write_json

if TYPE_CHECKING:
    from forum_runner.api import TrustedReferences
    from forum_runner.ledger.verification.report import VerifyReport

_LEVELS = re.compile(r"[1-5](-[1-5])?(,[1-5](-[1-5])?)*")
_HASH = re.compile(r"[0-9a-f]{64}")


@click.command("verify", short_help="Verify a ledger and report where it was altered.")
@click.argument("run", metavar="[PATH]", required=False)
@click.option(
    "--level", "levels", metavar="N", help="Verify only these levels, and always 1 and 2: `4`, `3,5` or `1-3`."
)
@click.option("--expect-head", metavar="HASH", help="Require this hash of the last line.")
@click.option("--checkpoint", type=FILE, metavar="FILE", help="Compare with a checkpoint from a trusted source.")
@click.option("--key", type=FILE, metavar="FILE", help="Require a signature by this public key.")
@click.option(
    "--pin",
    type=FILE,
    metavar="FILE",
    help="Store the last valid head in FILE, and refuse a ledger that was truncated or rewritten since.",
)
@click.option("--proof", type=FILE, metavar="FILE", help="Verify a proof instead of a ledger.")
@JSON
def command(
    run: str | None,
    levels: str | None,
    expect_head: str | None,
    checkpoint: Path | None,
    key: Path | None,
    pin: Path | None,
    proof: Path | None,
    as_json: bool,
) -> int:
    """Verify a ledger and report where it was altered.

    PATH is a run directory, a ledger, the id of a run, or `-` for standard input. There are five levels: 1 bytes and
    schema, 2 chain, 3 bodies, 4 semantics, 5 seal and checkpoint. Bodies and semantics need the run directory.

    Exits 0 if the ledger is valid, 3 if it is invalid or not a ledger, 7 if it is incomplete, and 2 if PATH does not
    exist.
    """
    from forum_runner.api import TrustedReferences

    if expect_head is not None and not _HASH.fullmatch(expect_head):
        raise click.BadParameter("a head is 64 hexadecimal digits in lower case", param_hint="--expect-head")
    trusted = TrustedReferences(expect_head, checkpoint, key, pin)
    if proof is not None:
        if run is not None or levels is not None or expect_head is not None:
            raise click.UsageError("--proof needs no ledger; omit PATH, --level and --expect-head")
        return _verify_proof(proof, trusted, as_json=as_json)
    if run is None:
        raise click.UsageError("pass the PATH of a run directory or a ledger, or --proof FILE")
    return _verify_ledger(run, _read_levels(levels), trusted, as_json=as_json)


def _verify_ledger(run: str, levels: frozenset[int] | None, trusted: TrustedReferences, *, as_json: bool) -> int:
    from forum_runner import api
    from forum_runner.ledger.verification.report import UnwrittenPinError

    try:
        report = api.verify(WORKSPACE, run, levels=levels, trusted=trusted, updates_pin=True)
    except UnwrittenPinError as error:
        _show(error.report, run, as_json=as_json)
        raise
    _show(report, run, as_json=as_json)
    return report.verdict.exit_code


def _show(report: VerifyReport, run: str, *, as_json: bool) -> None:
    if as_json:
        write_json(report.document())
    else:
        from forum_runner.report.verification_text import render_verification

        color = wants_color(sys.stdout)
        echo(render_verification(report, color=color), newline=False, color=color)
        if not report.is_ledger:
            _suggest_run_directory(run)


def _suggest_run_directory(run: str) -> None:
    """Suggests verifying the run directory, if the file is part of one."""
    from forum_runner.ledger.layout import LEDGER
    from forum_runner.report.next_commands import command_line

    folder = Path(run).parent
    if run != "-" and (folder / LEDGER).is_file():
        echo(f"the file is part of a run directory; verify the directory with: {command_line('verify', str(folder))}")


def _verify_proof(path: Path, trusted: TrustedReferences, *, as_json: bool) -> int:
    from forum_runner import api

    report = api.verify_proof(WORKSPACE, path, trusted)
    if as_json:
        findings = [{"code": item.code, "level": item.level, **asdict(item)} for item in report.findings]
        facts = {"verdict": str(report.verdict), "claim": report.claim, "vouched": report.is_vouched}
        write_json({**facts, "findings": findings})
        return report.verdict.exit_code
    echo(f"{report.verdict}: {report.claim or 'no proof'}")
    for finding in report.findings:
        echo(f"{finding.code} {finding.sentence}")
    if not report.findings and not report.is_vouched:
        echo("the checkpoint is only as trustworthy as its source; compare it with --checkpoint, --pin or --key")
    return report.verdict.exit_code


def _read_levels(text: str | None) -> frozenset[int] | None:
    if text is None:
        return None
    if not _LEVELS.fullmatch(text):
        raise click.BadParameter(
            f"invalid levels '{text}': use numbers from 1 to 5, such as 2, 1,2,5 or 1-3", param_hint="--level"
        )
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise click.BadParameter(f"the range '{part}' ends before it starts", param_hint="--level")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)
