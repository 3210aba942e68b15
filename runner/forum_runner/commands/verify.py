"""`forum verify`"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.output import say, wants_color, write_json

if TYPE_CHECKING:
    from forum_runner.app.verification import Trusted
    from forum_runner.ledger.source import LedgerSource

_LEVELS = re.compile(r"[1-5](-[1-5])?(,[1-5](-[1-5])?)*")
_HASH = re.compile(r"[0-9a-f]{64}")


@click.command("verify", short_help="Say whether a ledger holds, and where it was touched.")
@click.argument("run", metavar="[PATH]", required=False)
@click.option("--level", "levels", metavar="N", help="Only these levels: `2`, `1,2,5` or `1-3`.")
@click.option("--expect-head", metavar="HASH", help="The hash that the last line must have.")
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE", help="A checkpoint from elsewhere.")
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="The public key that must have signed it.")
@click.option(
    "--pin",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the last head that was valid in FILE, and refuse a ledger that went back or was rewritten.",
)
@click.option("--proof", type=click.Path(path_type=Path), metavar="FILE", help="Check a proof instead of a ledger.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    """Say whether a ledger holds, and where it was touched.

    PATH is a run directory, a ledger, the id of a run, or `-` for standard input. Five levels are looked at: 1 bytes
    and schema, 2 chain, 3 bodies, 4 semantics, 5 seal and checkpoint. Bodies and semantics need the run directory.

    Exits 0 if the ledger is valid, 3 if it is not or is some other file, 7 if it is incomplete, and 2 if there is none.
    """
    from forum_runner.app.verification import Trusted

    if expect_head is not None and not _HASH.fullmatch(expect_head):
        raise click.BadParameter("a head is 64 hexadecimal digits in lower case", param_hint="--expect-head")
    trusted = Trusted(expect_head, checkpoint, key, pin)
    if proof is not None:
        if run is not None or levels is not None or expect_head is not None:
            raise click.UsageError("--proof is checked without a ledger: leave out PATH, --level and --expect-head")
        return _verify_proof(proof, trusted, as_json=as_json)
    if run is None:
        raise click.UsageError("give the PATH of a run directory or a ledger, or --proof FILE")
    return _verify_ledger(run, _read_levels(levels), trusted, as_json=as_json)


def _verify_ledger(run: str, levels: frozenset[int] | None, trusted: Trusted, *, as_json: bool) -> int:
    from forum_runner.app.verification import keep_pin, verify_given
    from forum_runner.ledger.source import find_ledger

    source = find_ledger(run)
    report = verify_given(source, levels, trusted)
    if as_json:
        write_json(report.document())
    else:
        from forum_runner.report.verification import render_verification

        color = wants_color(sys.stdout)
        say(render_verification(report, color=color), newline=False, color=color)
        if not report.is_ledger:
            _name_run_directory(source)
    if trusted.pin is not None:
        keep_pin(trusted.pin, report)
    return report.verdict.exit_code


def _name_run_directory(source: LedgerSource) -> None:
    """Where what is no ledger is a part of a run."""
    from forum_runner.ledger.layout import LEDGER
    from forum_runner.report.run_commands import command_line

    folder = source.path.parent if source.path is not None else None
    if folder is not None and (folder / LEDGER).is_file():
        say(f"it stands in a run directory; whether that holds: {command_line('verify', str(folder))}")


def _verify_proof(path: Path, trusted: Trusted, *, as_json: bool) -> int:
    from forum_runner.app.verification import verify_proof

    report = verify_proof(path, trusted)
    if as_json:
        findings = [
            {"code": item.code, "level": item.level, "seq": item.seq, "sentence": item.sentence}
            for item in report.findings
        ]
        told = {"verdict": str(report.verdict), "claim": report.claim, "vouched": report.is_vouched}
        write_json({**told, "findings": findings})
        return report.verdict.exit_code
    say(f"{report.verdict}: {report.claim or 'no proof'}")
    for finding in report.findings:
        say(f"{finding.code} {finding.sentence}")
    if not report.findings and not report.is_vouched:
        say("its checkpoint is only as good as where you got it: give --checkpoint, --pin or --key to hold it to more")
    return report.verdict.exit_code


def _read_levels(text: str | None) -> frozenset[int] | None:
    if text is None:
        return None
    if not _LEVELS.fullmatch(text):
        raise click.BadParameter(
            f"'{text}' does not name levels from 1 to 5, such as 2, 1,2,5 or 1-3", param_hint="--level"
        )
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise click.BadParameter(f"'{part}' goes backwards", param_hint="--level")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)
