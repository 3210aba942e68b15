"""A builder for ledgers of runs. It takes details from the compiled plan, so that an example lists only the events.

The builder checks nothing: a wrong sequence of calls gives an invalid ledger.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from fake_ledger.files import RUN, Body, Files, Form, checkpoint_of, json_body
from fake_ledger.ledger_builder import LedgerBuilder
from ledgers.values import evaluate, source_tasks

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


@dataclass(slots=True)
class Unit:
    """The state of a task or an instance that later entries refer to, including the seqs of its latest entries."""

    agent: str | None = None
    step: int = 0
    attempts: int = 0
    checks: int = 0
    reserved: Mapping[str, int] = field(default_factory=dict)
    output: Body | None = None
    instances: int = 0
    expanded_seq: int | None = None
    delivered_seq: int | None = None
    gate_seq: int | None = None
    decided_seq: int | None = None
    started_seq: int | None = None
    closed_seq: int | None = None
    asked_seq: int | None = None
    ended_seq: int | None = None


class ExampleRun(LedgerBuilder):
    """Builds the ledger of one run. `plan` is a wave plan as JSON; without it, only `x-` entries are possible."""

    def __init__(self, plan: bytes | None = None, *, run_id: str = RUN, **opening: Any) -> None:
        super().__init__(json.loads(plan) if plan else None, run_id=run_id, step=timedelta(milliseconds=1250))
        self.units: dict[str, Unit] = {}
        self.torn: Files = {}
        self._salts = 0
        self._waves = 0
        facts = {"format": 1, "implementation": IMPLEMENTATION, "mode": "scripted", **opening}
        self.open(Body(plan, "application/json") if plan else None, **facts)

    def files(self, forms: Mapping[int, Form] | None = None) -> Files:
        checkpoint = checkpoint_of(self.lines(forms), run=self.run_id)
        return {**super().files(forms), "checkpoint": checkpoint, **self.torn}

    def body(self, content: object, *, is_salted: bool = False) -> Body:
        """Convert to a body: a body stays as it is, a string becomes text, any other value JSON."""
        if isinstance(content, Body):
            body = content
        else:
            body = Body(content.encode()) if isinstance(content, str) else json_body(content)
        return Body(body.content, body.type, self._salt()) if is_salted else body

    def _salt(self) -> bytes:
        self._salts += 1
        return hashlib.sha256(b"salt %d" % self._salts).digest()

    def wave(self) -> int:
        self._waves += 1
        return self.add("wave.opened", {"wave": self._waves - 1})

    def pause(self, reason: str = "gate") -> int:
        return self.add("run.paused", {"reason": reason})

    def resume(self) -> int:
        self.wait(60_000)
        return self.add("run.resumed", {"implementation": IMPLEMENTATION})

    def repair(self, **tails: bytes) -> int:
        """Record a repair. The tails are the torn bytes of the ledger (`ledger`) or the archive (`bodies`)."""
        files = {"ledger": "ledger.jsonl", "bodies": "bodies.tar"}
        torn = [
            {"file": files[name], "bytes": len(tail), "digest": hashlib.sha256(tail).hexdigest()}
            for name, tail in tails.items()
        ]
        for tail, facts in zip(tails.values(), torn, strict=True):
            self.torn[f"torn/{facts['file']}.{facts['digest']}"] = tail
        return self.add("run.repaired", {"torn": torn})

    def redact_body(self, seq: int, name: str, reason: str) -> int:
        """Redact a body that the entry with this seq refers to."""
        body = self.bodies[self.entries[seq]["bodies"][name]["digest"]]
        return self.redact(body, name, seq, reason=reason.encode())

    def unit(self, name: str) -> Unit:
        return self.units.setdefault(name, Unit())

    def task(self, name: str) -> Mapping[str, Any]:
        """Return the task in the plan. The name of an instance ends with a number in brackets."""
        tasks: Mapping[str, Mapping[str, Any]] = self.plan["tasks"]
        return tasks[name] if name in tasks else tasks[name.rpartition("[")[0]]

    def value(self, value: Mapping[str, Any]) -> Body:
        return evaluate(value, self._output, self._outputs)

    def last_ended(self, value: Mapping[str, Any]) -> int:
        return max(ended for task in source_tasks(value) if (ended := self.unit(task).ended_seq) is not None)

    def expand(self, task: str) -> int:
        foreach = self.task(task)["foreach"]
        items = self.value(foreach["from"])
        unit = self.unit(task)
        unit.instances = len(json.loads(items.content))
        data = {"task": task, "instances": unit.instances}
        unit.expanded_seq = self.add(
            "task.expanded", data, bodies={"items": items}, causes=(self.last_ended(foreach["from"]),)
        )
        return unit.expanded_seq

    def deliver(self, name: str) -> None:
        """Deliver the values of the data edges, and to an instance its item."""
        task = self.task(name)
        edges = {edge["as"]: edge["from"] for edge in task.get("needs", ()) if edge["edge"] == "data"}
        for edge, value in edges.items():
            self._deliver(name, edge, self.value(value), self.last_ended(value))
        if "foreach" in task:
            template, _, number = name.rpartition("[")
            item = {"list": [task["foreach"]["from"]], "select": f"/0/{number.rstrip(']')}"}
            self._deliver(name, task["foreach"]["as"], self.value(item), self.unit(template).expanded_seq)

    def route(self, name: str, agent: str, by: str = "keywords") -> int:
        self.unit(name).agent = agent
        scores = Body(b"the words of the instruction are those of the agent")
        return self.add("route.decided", {"task": name, "agent": agent, "by": by}, bodies={"scores": scores})

    def gate(self, name: str) -> int:
        data = {"task": name}
        span_ms = self.task(name)["gate"].get("deadline_ms")
        if span_ms is not None:
            data["deadline"] = self.time(span_ms)
        unit = self.unit(name)
        displayed = self.body(f"May {name} start?", is_salted=self.is_sensitive(name))
        unit.gate_seq = self.add("gate.opened", data, bodies={"displayed": displayed}, causes=(unit.delivered_seq,))
        return unit.gate_seq

    def decide(self, name: str, decision: str, by: str = "person", **bodies: Body) -> int:
        unit = self.unit(name)
        assert unit.gate_seq is not None
        displayed = self.entries[unit.gate_seq]["bodies"]["displayed"]["digest"]
        data = {"task": name, "decision": decision, "by": by, "authenticated": by == "person", "displayed": displayed}
        actor = "person:ada" if by == "person" else "runner"
        unit.decided_seq = self.add("gate.decided", data, bodies=bodies, causes=(unit.gate_seq,), actor=actor)
        return unit.decided_seq

    def start(self, name: str, **reserved: int) -> int:
        unit = self.unit(name)
        unit.attempts += 1
        unit.checks = 0
        unit.reserved = RESERVED | reserved
        agent, tier, adapter = self._worker(name)
        fingerprint = hashlib.sha256(f"{name} {tier}".encode()).hexdigest()
        data = {"task": name, "attempt": unit.attempts, "agent": agent, "tier": tier, "adapter": adapter}
        prompt = self.body(f"{name}, attempt {unit.attempts}", is_salted=self.is_sensitive(name))
        unit.started_seq = self.add(
            "task.started",
            {**data, "fingerprint": fingerprint, "reserved": unit.reserved},
            bodies={"prompt": prompt},
            causes=(unit.delivered_seq, unit.decided_seq) if unit.attempts == 1 else (unit.closed_seq,),
        )
        self.totals["calls"] += 1
        return unit.started_seq

    def finish(self, name: str, output: object, **usage: int) -> int:
        body = self.body(output, is_salted=self.is_sensitive(name))
        self.unit(name).output = body
        return self._close(name, {"status": "ok"}, {"output": body}, usage)

    def fail(self, name: str, error: str, **usage: int) -> int:
        detail = Body(f"{name}: {error}".encode())
        return self._close(name, {"status": "error", "error": error}, {"detail": detail}, usage)

    def cancel(self, name: str) -> int:
        return self._close(name, {"status": "cancelled"}, {}, {})

    def lose(self, name: str) -> int:
        unit = self.unit(name)
        self.totals.update(unit.reserved)
        data = {"task": name, "attempt": unit.attempts}
        unit.closed_seq = self.add("task.lost", data, causes=(unit.started_seq,))
        return unit.closed_seq

    def reuse(self, name: str, output: object, **data: Any) -> int:
        unit = self.unit(name)
        unit.output = self.body(output, is_salted=self.is_sensitive(name))
        facts = {"task": name, "fingerprint": hashlib.sha256(name.encode()).hexdigest(), **data}
        return self.add("task.reused", facts, bodies={"output": unit.output}, causes=(unit.delivered_seq,))

    def ask(self, name: str, **reserved: int) -> int:
        """Start the next check, which is a command or an agent."""
        unit = self.unit(name)
        unit.reserved = RESERVED | reserved
        data = {**self._check(name), "reserved": unit.reserved}
        if data["by"] == "agent":
            agent = self.task(name)["accept"][unit.checks]["agent"]
            tier = self.plan["agents"][agent]["tier"]
            data |= {"agent": agent, "tier": tier, "adapter": self.plan["agents"][agent]["adapters"][tier]}
            self.totals["calls"] += 1
        unit.asked_seq = self.add(
            "verdict.asked", data, bodies={"prompt": Body(b"does it hold?")}, causes=(unit.closed_seq,)
        )
        return unit.asked_seq

    def judge(self, name: str, verdict: str = "pass", **usage: int) -> int:
        """End the check in progress, or make a schema check, which has no start."""
        unit = self.unit(name)
        data = {**self._check(name), "verdict": verdict}
        cause = unit.closed_seq
        if data["by"] != "schema":
            cause = unit.asked_seq
            data["usage"] = USAGE | usage
            self.totals.update(data["usage"])
        if verdict == "none":
            data["error"] = "malformed"
        unit.checks += verdict == "pass"
        return self.add("verdict.given", data, bodies={"reason": Body(b"because")}, causes=(cause,))

    def check(self, name: str, verdict: str = "pass") -> int:
        if self._check(name)["by"] != "schema":
            self.ask(name)
        return self.judge(name, verdict)

    def lose_check(self, name: str) -> int:
        unit = self.unit(name)
        self.totals.update(unit.reserved)
        data = {key: value for key, value in self._check(name).items() if key != "by"}
        return self.add("verdict.lost", data, causes=(unit.asked_seq,))

    def escalate(self, name: str) -> int:
        unit = self.unit(name)
        before = self._worker(name)[1]
        unit.step += 1
        data = {"task": name, "from": before, "to": self._worker(name)[1]}
        return self.add("escalation.raised", data, causes=(unit.closed_seq,))

    def end(self, name: str, state: str = "passed", reason: str | None = None) -> int:
        unit = self.unit(name)
        self.states[name] = state
        data = {"task": name, "state": state} | ({"reason": reason} if reason else {})
        unit.ended_seq = self.add("task.ended", data, causes=(unit.closed_seq,))
        return unit.ended_seq

    def pass_task(self, name: str, output: object, **usage: int) -> None:
        """Add every entry of a task that passes at its first attempt."""
        self.deliver(name)
        self.start(name)
        self.finish(name, output, **usage)
        for _ in self.task(name).get("accept", ()):
            self.check(name)
        self.end(name)

    def answer(self, output: str) -> int:
        value = self.plan["outputs"][output]
        return self.add(
            "answer.given", {"output": output}, bodies={"value": self.value(value)}, causes=(self.last_ended(value),)
        )

    def is_sensitive(self, name: str) -> bool:
        return "sensitive" in self.task(name)

    def _deliver(self, name: str, edge: str, value: Body, cause: int | None) -> None:
        body = self.body(value, is_salted=True) if self.is_sensitive(name) else value
        data = {"task": name, "as": edge}
        self.unit(name).delivered_seq = self.add("edge.delivered", data, bodies={"value": body}, causes=(cause,))

    def _close(self, name: str, outcome: dict[str, Any], bodies: dict[str, Body], usage: dict[str, int]) -> int:
        unit = self.unit(name)
        used = USAGE | usage
        self.totals.update(used)
        data = {"task": name, "attempt": unit.attempts, **outcome, "usage": used, "measured": True}
        actor = f"agent:{self._worker(name)[0]}"
        unit.closed_seq = self.add("task.finished", data, bodies=bodies, causes=(unit.started_seq,), actor=actor)
        return unit.closed_seq

    def _check(self, name: str) -> dict[str, Any]:
        unit = self.unit(name)
        (by,) = self.task(name)["accept"][unit.checks]
        return {"task": name, "attempt": unit.attempts, "check": unit.checks, "by": by}

    def _worker(self, name: str) -> tuple[str, str, str]:
        """Return the agent, tier and adapter at the unit's current step of its escalation ladder."""
        unit, task = self.unit(name), self.task(name)
        if unit.agent is None:
            step = task["ladder"][unit.step]
            return task["agent"], step["tier"], step["adapter"]
        agent = self.plan["agents"][unit.agent]
        tiers = [agent["tier"], *(tier for tier in task.get("escalate", ()) if tier in agent["adapters"])]
        return unit.agent, tiers[unit.step], agent["adapters"][tiers[unit.step]]

    def _output(self, task: str) -> Body:
        output = self.unit(task).output
        assert output is not None
        return output

    def _outputs(self, task: str) -> Sequence[Body]:
        names = [f"{task}[{number}]" for number in range(self.unit(task).instances)]
        return [self._output(name) for name in names if self.states[name] == "passed"]
