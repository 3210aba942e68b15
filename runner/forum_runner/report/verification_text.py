"""A verification report as text."""

from __future__ import annotations

from forum_runner.finding import visible
from forum_runner.ledger.verification.report import LedgerFinding, Level, Verdict, VerifyReport
from forum_runner.manifest.units import counted
from forum_runner.report import join_lines
from forum_runner.report.paint import painted

_COLORS = {"ok": "green", "fail": "red", "incomplete": "yellow", "not checked": None}
_VERDICT_COLORS = {Verdict.VALID: "green", Verdict.INVALID: "red", Verdict.INCOMPLETE: "yellow"}
_DESCRIPTIONS = {
    "bytes": "every line is a canonical entry that matches its schema",
    "chain": "every entry contains the hash of the previous entry",
    "bodies": "every body exists and matches its digest, or is recorded as redacted",
    "semantics": "the entries are a valid run of the wave plan",
    "seal": "the run is sealed, and checkpoints agree",
}
_NOT_A_LEDGER = "not a ledger: it contains no entry"


def render_verification(report: VerifyReport, *, color: bool) -> str:
    verdict = painted(str(report.verdict), color, fg=_VERDICT_COLORS[report.verdict])
    run = f" run {report.run}" if report.run else ""
    lines = [f"{verdict}{run}: {_summary(report) if report.is_ledger else _NOT_A_LEDGER}"]
    lines += [_level(level, color=color, has_entries=report.run is not None) for level in report.levels]
    # For a file that is not a ledger, one finding is enough.
    listed = report.findings if report.is_ledger else report.findings[:1]
    lines += [_finding(finding, "entry" if report.run else "line") for finding in listed]
    more = report.more_findings + len(report.findings) - len(listed)
    if more:
        lines.append(f"... and {counted(more, 'more finding')}")
    if not report.is_ledger:
        return join_lines(lines)
    for checkpoint in report.checkpoints:
        signed = f", signed by {visible(checkpoint.signed_by)}" if checkpoint.signed_by else ""
        lines.append(
            f"agrees with the {_SOURCES[checkpoint.source]} ({counted(checkpoint.size, 'entry', 'entries')}{signed})"
        )
    if report.head:
        # Altering an earlier line does not change the last one.
        caution = " (of the last line; the ledger is invalid)" if report.verdict is Verdict.INVALID else ""
        lines.append(f"head {report.head}{caution}")
    return join_lines(lines)


_SOURCES = {"directory": "checkpoint in its directory", "given": "given checkpoint", "pin": "pin"}


def _summary(report: VerifyReport) -> str:
    if report.entries and report.run is None:
        return f"{counted(report.entries, 'line')}, none of them an entry"
    summary = counted(report.entries, "entry", "entries")
    summary += f", sealed as {report.status}" if report.status else ", not sealed" if report.entries else ""
    return summary + (f", {counted(report.redacted, 'body', 'bodies')} redacted" if report.redacted else "")


def _finding(finding: LedgerFinding, noun: str) -> str:
    place = f"{noun} {finding.seq}: " if finding.seq is not None else ""
    return f"{place}{finding.code} {visible(finding.sentence)}"


def _level(level: Level, *, color: bool, has_entries: bool) -> str:
    """The line of a level. Without entries, an `ok` level has checked nothing."""
    status = painted(f"{level.status:<11}", color, fg=_COLORS[level.status])
    if level.status == "ok":
        detail = _DESCRIPTIONS[level.name] if has_entries else "no entries to check"
    elif level.level == 1 and not has_entries:
        detail = "no line is an entry"
    elif level.reason:
        detail = level.reason
    else:
        detail = f"first bad entry {level.first_bad_seq}" if level.first_bad_seq is not None else "see below"
    return f"  {level.level} {level.name:<9}  {status}  {detail}"
