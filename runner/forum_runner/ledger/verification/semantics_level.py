"""Level 4 as part of a verification: reads the wave plan, checks the entries, and reports the first violation."""

from __future__ import annotations

from collections.abc import Callable

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entries import AnyEntry, RunOpened
from forum_runner.ledger.verification.report import LedgerFindings, Violation

_LEVEL = 4


class Semantics:
    """Stops after its first finding, or if it cannot read the wave plan. `reasons` then says why."""

    def __init__(self, findings: LedgerFindings, reasons: dict[int, str]) -> None:
        self._findings = findings
        self._reasons = reasons
        self._bodies: BodyReader | None = None
        self._observe: Callable[[AnyEntry], None] | None = None

    def read_from(self, bodies: BodyReader) -> None:
        self._bodies = bodies
        self._observe = self._open

    def leave_out(self, reason: str) -> None:
        self._reasons.setdefault(_LEVEL, reason)
        self._observe = None

    def observe(self, seq: int, entry: AnyEntry) -> None:
        if self._observe is None:
            return
        try:
            self._observe(entry)
        except Violation as violation:
            self._findings.add(violation.code, seq, str(violation))
            self._observe = None

    def _open(self, entry: AnyEntry) -> None:
        # Imported on first use: a ledger without a plan, or without its bodies, does not need these modules.
        from forum_runner.ledger.semantics.checked_plan import read_checked_plan
        from forum_runner.ledger.semantics.checker import SemanticsChecker

        if not isinstance(entry.data, RunOpened) or entry.data.wave_plan is None:
            self.leave_out("the run has no wave plan")
            return
        data = self._bodies.read(entry.bodies["wave_plan"]) if self._bodies is not None else None
        if data is None or self._bodies is None:
            self.leave_out("the wave plan is redacted, missing or wrong")
            return
        self._observe = SemanticsChecker(read_checked_plan(data, entry.data), self._bodies).observe
