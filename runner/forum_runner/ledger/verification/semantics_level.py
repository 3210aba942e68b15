"""Level 4: reads the wave plan, checks the entries against it, and reports the first violation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entries import AnyEntry, RunOpened
from forum_runner.ledger.verification.report import LedgerFindings, Violation

_LEVEL = 4


class SemanticsLevel:
    """Stops after its first finding. If the level is skipped, `reasons` says why."""

    def __init__(self, findings: LedgerFindings, reasons: dict[int, str]) -> None:
        self._findings = findings
        self._reasons = reasons
        self._check: Callable[[AnyEntry], None] | None = None

    def start(self, bodies: BodyReader) -> None:
        """Checks the entries that follow. The first one names the wave plan, which is read from `bodies`."""
        self._check = partial(self._open, bodies)

    def skip(self, reason: str) -> None:
        self._reasons.setdefault(_LEVEL, reason)
        self._check = None

    def check(self, seq: int, entry: AnyEntry) -> None:
        if self._check is None:
            return
        try:
            self._check(entry)
        except Violation as violation:
            self._findings.add(violation.code, seq, str(violation))
            self._check = None

    def _open(self, bodies: BodyReader, entry: AnyEntry) -> None:
        # Imported on first use: a ledger without a plan, or without its bodies, does not need these modules.
        from forum_runner.ledger.semantics.checked_plan import read_checked_plan
        from forum_runner.ledger.semantics.checker import SemanticsChecker

        if not isinstance(entry.data, RunOpened) or entry.data.wave_plan is None:
            self.skip("the run has no wave plan")
            return
        data = bodies.read(entry.bodies["wave_plan"])
        if data is None:
            self.skip("the wave plan is redacted, missing or wrong")
            return
        self._check = SemanticsChecker(read_checked_plan(data, entry.data), bodies).check
