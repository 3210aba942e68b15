"""Collects the entries and bodies of a fake run, and writes its run directory. It enforces no rules."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fake_ledger.files import RUN, Body, Entry, Files, Form, Record, directory_of, lines_of
from fake_ledger.wave_plans import Plan, digest_of

NO_USAGE = dict.fromkeys(
    ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms"), 0
)
STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
START = datetime(2026, 11, 15, 9, tzinfo=UTC)


class LedgerBuilder:
    """Collects entries and bodies. Methods that add an entry return its seq. Each is `step` after the last one."""

    def __init__(self, plan: Plan | None = None, *, run_id: str = RUN, step: timedelta = timedelta(seconds=1)) -> None:
        self.plan: Plan = plan or {"tasks": {}, "waves": []}
        self.run_id = run_id
        self.entries: list[Entry] = []
        self.bodies: dict[str, Body] = {}
        self.redacted: set[str] = set()
        self.states: dict[str, str] = {}
        self.totals: Counter[str] = Counter({"calls": 0, **NO_USAGE})
        self._now = START
        self._step = step

    def add(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        causes: Iterable[int | None] = (),
        bodies: Mapping[str, Body] | None = None,
        **members: Any,
    ) -> int:
        """Add an entry. None in `causes` is ignored. `members` replace other members of the entry."""
        entry = {
            "v": 1,
            "run": self.run_id,
            "seq": len(self.entries),
            "at": self.time(),
            "actor": "runner",
            "kind": kind,
            "causes": sorted({cause for cause in causes if cause is not None}),
            "data": dict(data or {}),
            "bodies": {name: body.reference for name, body in (bodies or {}).items()},
        }
        self.bodies |= {body.digest: body for body in (bodies or {}).values()}
        self.entries.append({**entry, **members})
        self._now += self._step
        return len(self.entries) - 1

    def time(self, later_ms: int = 0) -> str:
        return (self._now + timedelta(milliseconds=later_ms)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def wait(self, duration_ms: int) -> None:
        self._now += timedelta(milliseconds=duration_ms)

    def open(self, plan_body: Body | None = None, **facts: Any) -> int:
        """Add `run.opened`. `plan_body` is the wave plan, or None for a run without a plan."""
        if plan_body is None:
            return self.add("run.opened", facts)
        plan = {"wave_plan": self.plan["digest"], "bundle": digest_of(self.plan["bundle"])}
        return self.add("run.opened", {**plan, **facts}, bodies={"wave_plan": plan_body})

    def redact(self, body: Body, name: str, *causes: int, reason: bytes = b"asked for") -> int:
        self.redacted.add(body.digest)
        return self.add("body.redacted", {"body": name, "digest": body.digest}, causes, {"reason": Body(reason)})

    def seal(self, status: str = "passed", **facts: Any) -> int:
        counts = Counter(state for name, state in self.states.items() if name in self.plan["tasks"])
        data = {"status": status, "counts": {state: counts[state] for state in STATES}, "totals": dict(self.totals)}
        return self.add("run.sealed", {**data, **facts})

    def record(self) -> Record:
        return Record(tuple(self.entries), dict(self.bodies), frozenset(self.redacted))

    def lines(self, forms: Mapping[int, Form] | None = None) -> list[bytes]:
        return lines_of(self.entries, forms)

    def files(self, forms: Mapping[int, Form] | None = None) -> Files:
        return directory_of(self.record(), forms)

    def write(self, directory: Path, forms: Mapping[int, Form] | None = None) -> Path:
        for name, content in self.files(forms).items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return directory
