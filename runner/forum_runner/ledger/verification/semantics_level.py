"""Level 4, as part of a verification: finds the plan, replays the entries, and keeps the first finding."""

from __future__ import annotations

from typing import Any

import orjson

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.ledger.verification.report import LedgerFindings

_LEVEL = 4


class Semantics:
    """Does nothing after its first finding, or when the plan cannot be had; `reasons` then says why."""

    def __init__(self, findings: LedgerFindings, reasons: dict[int, str]) -> None:
        self._findings = findings
        self._reasons = reasons
        self._bodies: BodyReader | None = None
        self._observe: Any = self._open

    def read_from(self, bodies: BodyReader) -> None:
        self._bodies = bodies

    def leave_out(self, reason: str | None = None) -> None:
        if reason is not None:
            self._reasons.setdefault(_LEVEL, reason)
        self._observe = None

    def observe(self, seq: int, line: bytes) -> None:
        if self._observe is None:
            return
        try:
            self._observe(seq, orjson.loads(line))
        except Violation as unlawful:
            self._findings.add(unlawful.code, seq, str(unlawful))
            self._observe = None

    def _open(self, _seq: int, entry: dict[str, Any]) -> None:
        # Imported where it is needed: a ledger without a plan, or without its bodies, is checked without it.
        from forum_runner.ledger.semantics.checked_plan import read_checked_plan
        from forum_runner.ledger.semantics.checker import SemanticsChecker

        if entry["kind"] != "run.opened" or "wave_plan" not in entry["data"]:
            self.leave_out("the run has no wave plan")
            return
        body = entry["bodies"].get("wave_plan")
        data = self._bodies.read(body) if body is not None and self._bodies is not None else None
        if data is None or self._bodies is None:
            self.leave_out("the wave plan is redacted, missing or wrong")
            return
        self._observe = SemanticsChecker(read_checked_plan(data, entry["data"]), self._bodies).observe
