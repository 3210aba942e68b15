"""A pretend run's clock, salts and sums, and the entries that tell of the run itself."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import rfc8785

from ledgers.raw import RUN, Body, Entry, json_body, write_run

IMPLEMENTATION = {"name": "pretend-runner", "version": "1.0.0"}
RESERVED = {"input_tokens": 400, "output_tokens": 200, "micro_usd": 0, "output_bytes": 5000}
USAGE = {
    "input_tokens": 120,
    "cached_input_tokens": 20,
    "output_tokens": 40,
    "micro_usd": 0,
    "output_bytes": 60,
    "wall_ms": 900,
}
STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
START = datetime(2026, 11, 15, 9, tzinfo=UTC)
STEP = timedelta(milliseconds=1250)


class Telling:
    """`plan` is the document of a wave plan; without one, only `x-` entries have something to tell."""

    def __init__(self, plan: bytes | None = None, *, run: str = RUN, **opening: Any) -> None:
        self.run = run
        self.plan: Mapping[str, Any] = json.loads(plan) if plan else {"tasks": {}, "waves": []}
        self.entries: list[Entry] = []
        self.torn: dict[str, bytes] = {}
        self.states: dict[str, str] = {}
        self.totals = dict.fromkeys(("calls", *USAGE), 0)
        self._now = START
        self._salts = 0
        self._waves = 0
        data = {"format": 1, "implementation": IMPLEMENTATION, "mode": "scripted", **opening}
        if plan is None:
            self.tell("run.opened", data)
        else:
            bundle = hashlib.sha256(rfc8785.dumps(self.plan["bundle"])).hexdigest()
            data |= {"wave_plan": self.plan["digest"], "bundle": bundle}
            self.tell("run.opened", data, bodies={"wave_plan": Body(plan, "application/json")})

    def tell(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        *,
        bodies: Mapping[str, Body] | None = None,
        causes: tuple[int | None, ...] = (),
        actor: str = "runner",
    ) -> int:
        """Adds an entry, a step of the clock after the one before, and gives its seq."""
        known = tuple(cause for cause in causes if cause is not None)
        self.entries.append(Entry(kind, self.time(), data or {}, bodies or {}, known, actor))
        self._now += STEP
        return len(self.entries) - 1

    def wait(self, span_ms: int) -> None:
        self._now += timedelta(milliseconds=span_ms)

    def time(self, later_ms: int = 0) -> str:
        return (self._now + timedelta(milliseconds=later_ms)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def salt(self) -> bytes:
        self._salts += 1
        return hashlib.sha256(b"salt %d" % self._salts).digest()

    def body(self, content: object, *, salted: bool = False) -> Body:
        """Text as it is, a body as it is, any other value as JSON."""
        if isinstance(content, Body):
            made = content
        else:
            made = Body(content.encode()) if isinstance(content, str) else json_body(content)
        return Body(made.content, made.type, self.salt()) if salted else made

    def wave(self) -> int:
        self._waves += 1
        return self.tell("wave.opened", {"wave": self._waves - 1})

    def pause(self, reason: str = "gate") -> int:
        return self.tell("run.paused", {"reason": reason})

    def resume(self) -> int:
        self.wait(60_000)
        return self.tell("run.resumed", {"implementation": IMPLEMENTATION})

    def repair(self, **tails: bytes) -> int:
        """Sets tails aside: of the ledger (`ledger`), of the archive (`bodies`)."""
        files = {"ledger": "ledger.jsonl", "bodies": "bodies.tar"}
        torn = [
            {"file": files[name], "bytes": len(tail), "digest": hashlib.sha256(tail).hexdigest()}
            for name, tail in tails.items()
        ]
        self.torn |= {
            f"{facts['file']}.{facts['digest']}": tails[name] for name, facts in zip(tails, torn, strict=True)
        }
        return self.tell("run.repaired", {"torn": torn})

    def charge(self, amounts: Mapping[str, int]) -> None:
        for name, amount in amounts.items():
            self.totals[name] += amount

    def redact(self, seq: int, name: str, reason: str) -> int:
        data = {"body": name, "digest": self.entries[seq].bodies[name].digest}
        return self.tell("body.redacted", data, bodies={"reason": Body(reason.encode())}, causes=(seq,))

    def seal(self, status: str = "passed") -> int:
        counts = dict.fromkeys(STATES, 0)
        for task in self.plan["tasks"]:
            counts[self.states[task]] += 1
        return self.tell("run.sealed", {"status": status, "counts": counts, "totals": dict(self.totals)})

    def write(self, directory: Path) -> Path:
        return write_run(directory, self.entries, self.run, self.torn)
