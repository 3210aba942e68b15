"""Builds runs of small wave plans, entry by entry, with the causes that LEDGER-SEMANTICS requires."""

from collections.abc import Iterable, Mapping
from typing import Any

from fake_ledger.files import RUN, ZEROS, Body, Record, json_body
from fake_ledger.ledger_builder import NO_USAGE, LedgerBuilder
from fake_ledger.wave_plans import CHEAP, Plan

IMPLEMENTATION = {"name": "by-hand", "version": "1"}
OPENED: dict[str, Any] = {"format": 1, "implementation": IMPLEMENTATION, "mode": "live"}
NOTHING_RESERVED = dict.fromkeys(("input_tokens", "output_tokens", "micro_usd", "output_bytes"), 0)
DONE = Body(b"done")
DISPLAYED = Body(b"displayed")

Causes = Iterable[int] | None


class RunBuilder(LedgerBuilder):
    """Builds a run. The default unit is `a`. `causes` replaces the causes that an entry would have."""

    def __init__(self, plan: Plan | None = None, plan_body: Body | None = None, **opened: Any) -> None:
        super().__init__(plan)
        self.last: dict[tuple[str, str], int] = {}
        self.plan_body = plan_body or json_body(plan)
        self._reserved: dict[str, Mapping[str, int]] = {}
        self.open(self.plan_body if plan else None, **(OPENED | opened))

    def _causes(self, unit: str, *events: str, causes: Causes = None) -> list[int]:
        """The seqs of the unit's last entries of these events, unless `causes` are given."""
        known = [self.last[event, unit] for event in events if (event, unit) in self.last]
        return known if causes is None else list(causes)

    def _remember(self, event: str, unit: str, seq: int) -> int:
        self.last[event, unit] = seq
        return seq

    def start(self, unit: str = "a", attempt: int = 1, causes: Causes = None, **facts: Any) -> int:
        self._reserved[unit] = facts.pop("reserved", NOTHING_RESERVED)
        data = {"task": unit, "attempt": attempt, "agent": "worker", "fingerprint": ZEROS, **CHEAP, **facts}
        events = ("delivered", "decided") if attempt == 1 else ("closed",)
        own_causes = self._causes(unit, *events, causes=causes)
        self.totals["calls"] += 1
        return self._remember(
            "started", unit, self.add("task.started", {**data, "reserved": self._reserved[unit]}, own_causes)
        )

    def finish(
        self,
        unit: str = "a",
        output: Body = DONE,
        attempt: int = 1,
        status: str = "ok",
        causes: Causes = None,
        **used: int,
    ) -> int:
        usage = {**NO_USAGE, **used}
        data = {"task": unit, "attempt": attempt, "status": status, "usage": usage, "measured": True}
        data |= {"error": "internal"} if status == "error" else {}
        bodies = {"output": output} if status == "ok" else {}
        self.totals.update(usage)
        own_causes = self._causes(unit, "started", causes=causes)
        return self._remember("closed", unit, self.add("task.finished", data, own_causes, bodies))

    def lose(self, unit: str = "a", attempt: int = 1, causes: Causes = None) -> int:
        self.totals.update(self._reserved[unit])
        data = {"task": unit, "attempt": attempt}
        return self._remember("closed", unit, self.add("task.lost", data, self._causes(unit, "started", causes=causes)))

    def reuse(self, unit: str = "a", output: Body = DONE) -> int:
        data = {"task": unit, "fingerprint": ZEROS, "source": "cache", "run": RUN, "seq": 3}
        return self.add("task.reused", data, bodies={"output": output})

    def end(self, unit: str = "a", state: str = "passed", reason: str = "error", causes: Causes = None) -> int:
        self.states[unit] = state
        data = {"task": unit, "state": state} | ({} if state == "passed" else {"reason": reason})
        return self._remember("ended", unit, self.add("task.ended", data, self._causes(unit, "closed", causes=causes)))

    def complete(self, unit: str = "a", output: Body = DONE) -> int:
        """One attempt, which succeeds."""
        self.start(unit)
        self.finish(unit, output)
        return self.end(unit)

    def open_wave(self, wave: int) -> int:
        return self.add("wave.opened", {"wave": wave})

    def route(self, unit: str = "a", agent: str = "worker") -> int:
        return self.add("route.decided", {"task": unit, "agent": agent, "by": "only"})

    def deliver(self, unit: str, name: str, value: Body, *causes: int) -> int:
        data = {"task": unit, "as": name}
        return self._remember("delivered", unit, self.add("edge.delivered", data, causes, {"value": value}))

    def expand(self, name: str, items: Body, instances: int) -> int:
        data = {"task": name, "instances": instances}
        return self._remember("expanded", name, self.add("task.expanded", data, bodies={"items": items}))

    def open_gate(self, unit: str = "a", deadline: str | None = None) -> int:
        data = {"task": unit} | ({"deadline": deadline} if deadline else {})
        return self._remember("gate", unit, self.add("gate.opened", data, bodies={"displayed": DISPLAYED}))

    def decide(
        self,
        unit: str = "a",
        decision: str = "approved",
        by: str = "person",
        displayed: str = DISPLAYED.digest,
        causes: Causes = None,
        **members: Any,
    ) -> int:
        data = {"task": unit, "decision": decision, "by": by, "authenticated": False, "displayed": displayed}
        seq = self.add("gate.decided", data, self._causes(unit, "gate", causes=causes), **members)
        return self._remember("decided", unit, seq)

    def ask(
        self,
        check: int,
        by: str = "command",
        unit: str = "a",
        attempt: int = 1,
        causes: Causes = None,
        **facts: Any,
    ) -> int:
        data = {"task": unit, "attempt": attempt, "check": check, "by": by, "reserved": NOTHING_RESERVED}
        data |= {"agent": "critic", **CHEAP} if by == "agent" else {}
        self.totals["calls"] += by == "agent"
        own_causes = self._causes(unit, "closed", causes=causes)
        return self._remember("asked", unit, self.add("verdict.asked", {**data, **facts}, own_causes))

    def judge(
        self,
        check: int,
        by: str = "command",
        verdict: str = "pass",
        unit: str = "a",
        attempt: int = 1,
        causes: Causes = None,
    ) -> int:
        data: dict[str, Any] = {"task": unit, "attempt": attempt, "check": check, "by": by, "verdict": verdict}
        data |= {} if by == "schema" else {"usage": NO_USAGE}
        data |= {"error": "internal"} if verdict == "none" else {}
        own_causes = self._causes(unit, "closed" if by == "schema" else "asked", causes=causes)
        return self.add("verdict.given", data, own_causes)

    def lose_verdict(self, check: int, unit: str = "a", attempt: int = 1, causes: Causes = None) -> int:
        data = {"task": unit, "attempt": attempt, "check": check}
        return self.add("verdict.lost", data, self._causes(unit, "asked", causes=causes))

    def escalate(self, unit: str = "a", tier: str = "cheap", to: str = "capable", causes: Causes = None) -> int:
        data = {"task": unit, "from": tier, "to": to}
        return self.add("escalation.raised", data, self._causes(unit, "closed", causes=causes))

    def answer(self, name: str, value: Body, *causes: int) -> int:
        return self.add("answer.given", {"output": name}, causes, {"value": value})

    def pause(self) -> int:
        return self.add("run.paused", {"reason": "gate"})

    def resume(self) -> int:
        return self.add("run.resumed", {"implementation": IMPLEMENTATION})

    def sealed(self, status: str = "passed") -> Record:
        """Seals the run and returns its record."""
        self.seal(status)
        return self.record()
