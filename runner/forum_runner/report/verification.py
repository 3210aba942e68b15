"""What a verification says, for people."""

from __future__ import annotations

from forum_runner.finding import visible
from forum_runner.ledger.verification.report import Level, Verdict, VerifyReport
from forum_runner.report import counted
from forum_runner.report.paint import painted

_COLORS = {"ok": "green", "fail": "red", "incomplete": "yellow", "not checked": None}
_VERDICT_COLORS = {Verdict.VALID: "green", Verdict.INVALID: "red", Verdict.INCOMPLETE: "yellow"}
_ABOUT = {
    "bytes": "every line is a canonical entry that fits its schema",
    "chain": "every entry names the hash of the one before",
    "bodies": "every body is there and has its digest, or is recorded as redacted",
    "semantics": "the entries tell a lawful run of the wave plan",
    "seal": "the run is sealed, and checkpoints agree",
}


def render_verification(report: VerifyReport, *, color: bool) -> str:
    run = f" run {report.run}" if report.run else ""
    lines = [f"{painted(str(report.verdict), color, fg=_VERDICT_COLORS[report.verdict])}{run}: {_told(report)}"]
    lines += [_level(level, color=color) for level in report.levels]
    for finding in report.findings:
        place = f"entry {finding.seq}: " if finding.seq is not None else ""
        lines.append(f"{place}{finding.code} {visible(finding.sentence)}")
    if report.more_findings:
        lines.append(f"... and {counted(report.more_findings, 'finding')} more")
    for checkpoint in report.checkpoints:
        signed = f", signed by {visible(checkpoint.signed_by)}" if checkpoint.signed_by else ""
        lines.append(f"agrees with the {_SOURCES[checkpoint.source]} of {checkpoint.size:,} entries{signed}")
    if report.head:
        lines.append(f"head {report.head}")
    return "\n".join(lines) + "\n"


_SOURCES = {"directory": "checkpoint beside it", "given": "checkpoint given", "pin": "pin"}


def _told(report: VerifyReport) -> str:
    told = counted(report.entries, "entry", "entries")
    told += f", sealed as {report.status}" if report.status else ", not sealed" if report.entries else ""
    return told + (f", {counted(report.redacted, 'body', 'bodies')} redacted" if report.redacted else "")


def _level(level: Level, *, color: bool) -> str:
    status = painted(f"{level.status:<11}", color, fg=_COLORS[level.status])
    if level.status == "ok":
        more = _ABOUT[level.name]
    elif level.reason:
        more = level.reason
    else:
        more = f"first bad entry {level.first_bad_seq}" if level.first_bad_seq is not None else "see below"
    return f"  {level.level} {level.name:<9}  {status}  {more}"
