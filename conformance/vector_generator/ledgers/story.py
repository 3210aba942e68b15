"""Build valid runs of small wave plans, entry by entry, with the causes that LEDGER-SEMANTICS requires."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vector_generator.ledgers.writer import RUN, ZEROS, Body, Entry, Telling, canonical

IMPLEMENTATION = {"name": "by-hand", "version": "1"}
NOTHING_USED = dict.fromkeys(
    ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms"), 0
)
NOTHING_RESERVED = dict.fromkeys(("input_tokens", "output_tokens", "micro_usd", "output_bytes"), 0)
STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
CHEAP = {"tier": "cheap", "adapter": "small"}
CAPABLE = {"tier": "capable", "adapter": "large"}
DONE = Body(b"done")
DISPLAYED = Body(b"displayed")

Plan = dict[str, Any]


def task(**fields: Any) -> dict[str, Any]:
    return {"agent": "worker", "ladder": [CHEAP], **fields}


def order_edge(name: str) -> dict[str, Any]:
    return {"edge": "order", "task": name}


def data_edge(source: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {"edge": "data", "from": source, "as": name}


def retry(attempts: int) -> dict[str, int]:
    return {"attempts": attempts, "backoff_ms": 0, "max_backoff_ms": 0}


def wave_plan(
    tasks: Mapping[str, Any],
    waves: Sequence[Sequence[str]] | None = None,
    outputs: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
    **policy: Any,
) -> Plan:
    """One wave for each task, if nothing else is said."""
    worker: dict[str, Any] = {"tier": "cheap", "adapters": {"cheap": "small", "capable": "large"}}
    return finished(
        {
            "apiVersion": "forum/v1",
            "kind": "WavePlan",
            "metadata": {"name": "by-hand"},
            "policy": {
                "max_parallel": 2,
                "dispatch": "eager",
                "budget": {},
                "allow": {"agents": ["*"], "adapters": ["*"], "commands": [], "hosts": [], "env": []},
                "retry": retry(2),
                "rates": {},
                "on_failure": "stop",
                "privacy": {"sensitive": False, "scrub_env": []},
                "durability": "none",
                **policy,
            },
            "adapters": {"small": {"type": "scripted"}, "large": {"type": "scripted"}},
            "agents": {"worker": {**worker, "limits": limits} if limits else worker, "critic": worker},
            "inputs": {},
            "schemas": {},
            "tasks": dict(tasks),
            "waves": [list(wave) for wave in waves] if waves else [[name] for name in tasks],
            "outputs": dict(outputs or {}),
        }
    )


def finished(plan: Mapping[str, Any]) -> Plan:
    """With its digest (COMPILE-WRITE-002) and a bundle."""
    rest = {key: value for key, value in plan.items() if key not in ("bundle", "digest")}
    return {**rest, "digest": digest_of(rest), "bundle": []}


def digest_of(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def opening_of(plan: Plan | None) -> dict[str, Any]:
    """The data of `run.opened`."""
    data = {"format": 1, "implementation": IMPLEMENTATION, "mode": "live"}
    return data if plan is None else {**data, "wave_plan": plan["digest"], "bundle": digest_of(plan["bundle"])}


def entry_at(seq: int, kind: str, data: Mapping[str, Any], **members: Any) -> Entry:
    """An entry; one a second, if no time is given."""
    at = f"2026-11-15T09:{seq // 60:02}:{seq % 60:02}.000000Z"
    shared = {"v": 1, "run": RUN, "seq": seq, "at": at, "actor": "runner", "kind": kind}
    return {**shared, "causes": [], "data": dict(data), "bodies": {}, **members}


class Story:
    """A method adds an entry and gives its seq. Units that are not named are `a`."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan
        self.entries: list[Entry] = []
        self.bodies: dict[str, Body] = {}
        self.redacted: set[str] = set()
        self._last: dict[tuple[str, str], int] = {}
        self._reserved: dict[str, Mapping[str, int]] = {}
        self._states: dict[str, str] = {}
        self._totals = Counter({"calls": 0, **NOTHING_USED})
        bodies = {"wave_plan": Body(canonical(plan), "application/json")} if plan else {}
        self.add("run.opened", opening_of(plan), bodies=bodies)

    def telling(self) -> Telling:
        return Telling(tuple(self.entries), dict(self.bodies), frozenset(self.redacted))

    def add(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        causes: Sequence[int] = (),
        bodies: Mapping[str, Body] | None = None,
        **members: Any,
    ) -> int:
        seq = len(self.entries)
        named = {name: body.named for name, body in (bodies or {}).items()}
        entry = entry_at(seq, kind, data or {}, causes=sorted(set(causes)), bodies=named, **members)
        self.bodies |= {body.digest: body for body in (bodies or {}).values()}
        self.entries.append(entry)
        return seq

    def _after(self, unit: str, *events: str) -> list[int]:
        return [self._last[event, unit] for event in events if (event, unit) in self._last]

    def _note(self, event: str, unit: str, seq: int) -> int:
        self._last[event, unit] = seq
        return seq

    def start(self, unit: str = "a", attempt: int = 1, **facts: Any) -> int:
        self._reserved[unit] = facts.pop("reserved", NOTHING_RESERVED)
        data = {"task": unit, "attempt": attempt, "agent": "worker", "fingerprint": ZEROS, **CHEAP, **facts}
        causes = self._after(unit, "delivered", "decided") if attempt == 1 else self._after(unit, "closed")
        self._totals["calls"] += 1
        return self._note("started", unit, self.add("task.started", {**data, "reserved": self._reserved[unit]}, causes))

    def finish(self, unit: str = "a", output: Body = DONE, attempt: int = 1, status: str = "ok", **used: int) -> int:
        usage = {**NOTHING_USED, **used}
        data = {"task": unit, "attempt": attempt, "status": status, "usage": usage, "measured": True}
        data |= {"error": "internal"} if status == "error" else {}
        bodies = {"output": output} if status == "ok" else {}
        self._totals.update(usage)
        return self._note("closed", unit, self.add("task.finished", data, self._after(unit, "started"), bodies))

    def lose(self, unit: str = "a", attempt: int = 1) -> int:
        self._totals.update(self._reserved[unit])
        data = {"task": unit, "attempt": attempt}
        return self._note("closed", unit, self.add("task.lost", data, self._after(unit, "started")))

    def reuse(self, unit: str = "a", output: Body = DONE) -> int:
        data = {"task": unit, "fingerprint": ZEROS, "source": "cache", "run": RUN, "seq": 3}
        return self.add("task.reused", data, bodies={"output": output})

    def end(self, unit: str = "a", state: str = "passed", reason: str = "error") -> int:
        self._states[unit] = state
        data = {"task": unit, "state": state} | ({} if state == "passed" else {"reason": reason})
        return self._note("ended", unit, self.add("task.ended", data, self._after(unit, "closed")))

    def run(self, unit: str = "a", output: Body = DONE) -> int:
        """One attempt that does it."""
        self.start(unit)
        self.finish(unit, output)
        return self.end(unit)

    def deliver(self, unit: str, name: str, value: Body, cause: int) -> int:
        data = {"task": unit, "as": name}
        return self._note("delivered", unit, self.add("edge.delivered", data, [cause], {"value": value}))

    def expand(self, name: str, items: Body, instances: int) -> int:
        return self.add("task.expanded", {"task": name, "instances": instances}, bodies={"items": items})

    def open_gate(self, unit: str = "a", **deadline: str) -> int:
        data = {"task": unit, **deadline}
        return self._note("gate", unit, self.add("gate.opened", data, bodies={"displayed": DISPLAYED}))

    def decide(self, unit: str = "a", by: str = "person", **members: Any) -> int:
        data = {"task": unit, "decision": "approved", "by": by, "authenticated": False, "displayed": DISPLAYED.digest}
        seq = self.add("gate.decided", data, self._after(unit, "gate"), **members)
        return self._note("decided", unit, seq)

    def ask(self, check: int, by: str = "command", unit: str = "a", **facts: Any) -> int:
        data = {"task": unit, "attempt": 1, "check": check, "by": by, "reserved": NOTHING_RESERVED, **facts}
        data |= {"agent": "critic", **CHEAP} if by == "agent" else {}
        self._totals["calls"] += by == "agent"
        return self._note("asked", unit, self.add("verdict.asked", data, self._after(unit, "closed")))

    def judge(self, check: int, by: str = "command", verdict: str = "pass", unit: str = "a", attempt: int = 1) -> int:
        data: dict[str, Any] = {"task": unit, "attempt": attempt, "check": check, "by": by, "verdict": verdict}
        data |= {} if by == "schema" else {"usage": NOTHING_USED}
        data |= {"error": "internal"} if verdict == "none" else {}
        return self.add("verdict.given", data, self._after(unit, "closed" if by == "schema" else "asked"))

    def lose_verdict(self, check: int, unit: str = "a") -> int:
        return self.add("verdict.lost", {"task": unit, "attempt": 1, "check": check}, self._after(unit, "asked"))

    def escalate(self, unit: str = "a") -> int:
        data = {"task": unit, "from": "cheap", "to": "capable"}
        return self.add("escalation.raised", data, self._after(unit, "closed"))

    def answer(self, name: str, value: Body, cause: int) -> int:
        return self.add("answer.given", {"output": name}, [cause], {"value": value})

    def redact(self, digest: str, name: str, cause: int) -> int:
        self.redacted.add(digest)
        data = {"body": name, "digest": digest}
        return self.add("body.redacted", data, [cause], {"reason": Body(b"asked for")})

    def seal(self, status: str = "passed") -> Telling:
        """The last entry, and with it what there is to tell."""
        tasks = self.plan["tasks"] if self.plan else {}
        found = Counter(state for name, state in self._states.items() if name in tasks)
        counts = {state: found[state] for state in STATES}
        self.add("run.sealed", {"status": status, "counts": counts, "totals": dict(self._totals)})
        return self.telling()
