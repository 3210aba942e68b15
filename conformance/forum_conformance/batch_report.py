"""The judge's report on several ledgers: one line per valid ledger, more lines per other ledger, and a summary."""

import json
from collections import Counter

from forum_conformance.report import Report, Verdict, describe_record, printable, report_document, report_text


def json_line(name: str, report: Report | None, error: str | None) -> str:
    """One line of JSON that matches verify-reports.schema.json."""
    document = {"path": name, "report": report_document(report) if report else None, "error": error}
    return json.dumps(document, separators=(",", ":")) + "\n"


def ledger_text(name: str, report: Report | None, error: str | None) -> str:
    path = printable(name)
    if report is None:
        return f"not judged: {path}: {printable(error or '')}\n"
    if report.verdict is Verdict.VALID:
        return f"valid: {path}: {printable(describe_record(report))}\n"
    first, *rest = report_text(report).splitlines()
    verdict, _, summary = first.partition(": ")
    return "".join(f"{line}\n" for line in (f"{verdict}: {path}: {summary}", *(f"  {line}" for line in rest)))


class VerdictCounts:
    """The number of ledgers for each verdict, and of those that could not be judged."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, report: Report | None) -> None:
        self._counts[report.verdict.value if report else "not judged"] += 1

    def text(self) -> str:
        summary = ", ".join(
            f"{self._counts[word]} {word}"
            for word in ("valid", "invalid", "incomplete", "not judged")
            if self._counts[word]
        )
        total = self._counts.total()
        return f"{total} ledger{'s' * (total != 1)}: {summary}\n"
