"""Tells the runs of small wave plans, entry by entry and lawfully, unless a test says otherwise."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from unit.conformance.raw_ledger import NO_USAGE, STATES, ZEROS, RawLedger, Stored, canonical, digest

NOTHING_RESERVED = dict.fromkeys(("input_tokens", "output_tokens", "micro_usd", "output_bytes"), 0)
CHEAP = {"tier": "cheap", "adapter": "small"}
CAPABLE = {"tier": "capable", "adapter": "large"}
IMPLEMENTATION = {"name": "by-hand", "version": "1"}


def task(**fields: Any) -> dict[str, Any]:
    return {"agent": "worker", "ladder": [CHEAP], **fields}


def data_edge(source: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {"edge": "data", "from": source, "as": name}


def wave_plan(
    tasks: Mapping[str, Any],
    waves: Sequence[Sequence[str]] | None = None,
    outputs: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    agent = {"tier": "cheap", "adapters": {"cheap": "small", "capable": "large"}}
    plan: dict[str, Any] = {
        "apiVersion": "forum/v1",
        "kind": "WavePlan",
        "metadata": {"name": "by-hand"},
        "policy": {
            "max_parallel": 4,
            "dispatch": "eager",
            "budget": {},
            "allow": {"agents": ["*"], "adapters": ["*"], "commands": [], "hosts": [], "env": []},
            "retry": {"attempts": 2, "backoff_ms": 0, "max_backoff_ms": 0},
            "rates": {},
            "on_failure": "stop",
            "privacy": {"sensitive": False, "scrub_env": []},
            "durability": "none",
            **(policy or {}),
        },
        "adapters": {"small": {"type": "scripted"}, "large": {"type": "scripted"}},
        "agents": {"worker": {**agent, "limits": limits} if limits else agent, "critic": agent},
        "inputs": {},
        "schemas": {},
        "tasks": dict(tasks),
        "waves": [list(wave) for wave in waves] if waves else [[name] for name in tasks],
        "outputs": dict(outputs or {}),
    }
    return finished(plan)


def finished(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with its digest and a bundle."""
    rest = {key: value for key, value in plan.items() if key not in ("bundle", "digest")}
    return {**rest, "digest": digest(canonical(rest)), "bundle": []}


class Story(RawLedger):
    """Knows the causes that each entry needs; `causes` given to a method take their place."""

    def __init__(self, plan: Mapping[str, Any], plan_body: Stored | None = None, **opened: Any) -> None:
        super().__init__()
        self.plan = plan
        self.plan_body = plan_body or Stored(canonical(plan), "application/json")
        self.last: dict[tuple[str, str], int] = {}
        self.reserved: dict[str, Mapping[str, int]] = {}
        self.ended: dict[str, str] = {}
        self.totals: Counter[str] = Counter({"calls": 0, **NO_USAGE})
        bundle = digest(canonical(plan["bundle"]))
        data = {"format": 1, "implementation": IMPLEMENTATION, "mode": "scripted"}
        self.add(
            "run.opened", {**data, "wave_plan": plan["digest"], "bundle": bundle, **opened}, (), self._plan_bodies()
        )

    def _plan_bodies(self) -> dict[str, Stored]:
        return {"wave_plan": self.plan_body}

    def _tell(
        self,
        kind: str,
        unit: str,
        after: Sequence[str],
        data: Mapping[str, Any],
        causes: Sequence[int] | None,
        bodies: Mapping[str, Stored] | None = None,
        at: str | None = None,
    ) -> int:
        known = [self.last[event, unit] for event in after if (event, unit) in self.last]
        return self.add(kind, data, known if causes is None else causes, bodies, at)

    def open_wave(self, wave: int) -> int:
        return self.add("wave.opened", {"wave": wave})

    def start(self, unit: str, attempt: int = 1, causes: Sequence[int] | None = None, **changes: Any) -> int:
        self.reserved[unit] = changes.pop("reserved", NOTHING_RESERVED)
        data = {"task": unit, "attempt": attempt, "agent": "worker", "fingerprint": ZEROS, **CHEAP, **changes}
        after = ("delivered", "decided") if attempt == 1 else ("closed",)
        seq = self._tell("task.started", unit, after, {**data, "reserved": self.reserved[unit]}, causes)
        self.last["started", unit] = seq
        self.totals["calls"] += 1
        return seq

    def finish(
        self,
        unit: str,
        output: Stored | None = None,
        attempt: int = 1,
        status: str = "ok",
        usage: Mapping[str, int] = NO_USAGE,
        causes: Sequence[int] | None = None,
    ) -> int:
        data = {"task": unit, "attempt": attempt, "status": status, "usage": dict(usage), "measured": True}
        data |= {"error": "internal"} if status == "error" else {}
        bodies = {"output": output or Stored(b"done")} if status == "ok" else {}
        self.last["closed", unit] = self._tell("task.finished", unit, ("started",), data, causes, bodies)
        self.totals.update(usage)
        return self.last["closed", unit]

    def lose(self, unit: str, attempt: int = 1, causes: Sequence[int] | None = None) -> int:
        data = {"task": unit, "attempt": attempt}
        self.last["closed", unit] = self._tell("task.lost", unit, ("started",), data, causes)
        self.totals.update(self.reserved[unit])
        return self.last["closed", unit]

    def reuse(self, unit: str, output: Stored | None = None) -> int:
        data = {"task": unit, "fingerprint": ZEROS, "source": "cache", "run": self.entries[0]["run"], "seq": 3}
        return self.add("task.reused", data, (), {"output": output or Stored(b"done")})

    def end(self, unit: str, state: str = "passed", reason: str = "error", causes: Sequence[int] | None = None) -> int:
        data = {"task": unit, "state": state} | ({} if state == "passed" else {"reason": reason})
        self.last["ended", unit] = self._tell("task.ended", unit, ("closed",), data, causes)
        self.ended[unit] = state
        return self.last["ended", unit]

    def run_task(self, unit: str, output: Stored | None = None) -> int:
        self.start(unit)
        self.finish(unit, output)
        return self.end(unit)

    def expand(self, name: str, items: Stored, instances: int) -> int:
        data = {"task": name, "instances": instances}
        self.last["expanded", name] = self.add("task.expanded", data, (), {"items": items})
        return self.last["expanded", name]

    def deliver(self, unit: str, name: str, value: Stored, causes: Sequence[int]) -> int:
        data = {"task": unit, "as": name}
        self.last["delivered", unit] = self.add("edge.delivered", data, causes, {"value": value})
        return self.last["delivered", unit]

    def open_gate(self, unit: str, displayed: Stored, deadline: str | None = None) -> int:
        data = {"task": unit} | ({"deadline": deadline} if deadline else {})
        self.last["gate", unit] = self.add("gate.opened", data, (), {"displayed": displayed})
        return self.last["gate", unit]

    def decide(
        self,
        unit: str,
        displayed: str,
        decision: str = "approved",
        by: str = "person",
        causes: Sequence[int] | None = None,
        at: str | None = None,
    ) -> int:
        data = {"task": unit, "decision": decision, "by": by, "authenticated": False, "displayed": displayed}
        self.last["decided", unit] = self._tell("gate.decided", unit, ("gate",), data, causes, at=at)
        return self.last["decided", unit]

    def ask(
        self, unit: str, check: int, by: str, attempt: int = 1, causes: Sequence[int] | None = None, **changes: Any
    ) -> int:
        data = {"task": unit, "attempt": attempt, "check": check, "by": by, "reserved": NOTHING_RESERVED}
        data |= {"agent": "critic", **CHEAP} if by == "agent" else {}
        self.last["asked", unit] = self._tell("verdict.asked", unit, ("closed",), {**data, **changes}, causes)
        self.totals["calls"] += by == "agent"
        return self.last["asked", unit]

    def judge(
        self,
        unit: str,
        check: int,
        by: str,
        verdict: str = "pass",
        attempt: int = 1,
        causes: Sequence[int] | None = None,
    ) -> int:
        data: dict[str, Any] = {"task": unit, "attempt": attempt, "check": check, "by": by, "verdict": verdict}
        data |= {} if by == "schema" else {"usage": NO_USAGE}
        data |= {"error": "internal"} if verdict == "none" else {}
        after = "closed" if by == "schema" else "asked"
        return self._tell("verdict.given", unit, (after,), data, causes)

    def lose_verdict(self, unit: str, check: int, attempt: int = 1, causes: Sequence[int] | None = None) -> int:
        return self._tell("verdict.lost", unit, ("asked",), {"task": unit, "attempt": attempt, "check": check}, causes)

    def route(self, unit: str, agent: str = "worker") -> int:
        return self.add("route.decided", {"task": unit, "agent": agent, "by": "only"})

    def escalate(self, unit: str, tier: str = "cheap", to: str = "capable", causes: Sequence[int] | None = None) -> int:
        return self._tell("escalation.raised", unit, ("closed",), {"task": unit, "from": tier, "to": to}, causes)

    def answer(self, name: str, value: Stored, causes: Sequence[int]) -> int:
        return self.add("answer.given", {"output": name}, causes, {"value": value})

    def pause(self) -> int:
        return self.add("run.paused", {"reason": "gate"})

    def resume(self) -> int:
        return self.add("run.resumed", {"implementation": IMPLEMENTATION})

    def seal(self, status: str = "passed", **changes: Any) -> int:
        found = Counter(state for name, state in self.ended.items() if name in self.plan["tasks"])
        data = {"status": status, "counts": {state: found[state] for state in STATES}, "totals": dict(self.totals)}
        return self.add("run.sealed", {**data, **changes})


def draft_and_review(*, is_sealed: bool = True, salt: bytes = b"") -> Story:
    """A run that holds: `draft` hands its output to `review`, whose output is the answer `notes`."""
    tasks = {"draft": task(), "review": task(needs=[data_edge({"task": "draft"}, "text")])}
    story = Story(wave_plan(tasks, outputs={"notes": {"task": "review"}}))
    text, notes = Stored(b"a draft", salt=salt), Stored(b"the notes")
    ended = story.run_task("draft", text)
    story.deliver("review", "text", text, [ended])
    ended = story.run_task("review", notes)
    story.answer("notes", notes, [ended])
    if is_sealed:
        story.seal()
    return story
