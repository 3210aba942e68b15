"""A pretend runner: it is told what happens to each task, and writes what a lawful run would write of it.

It checks nothing. Whoever tells an unlawful story gets an unlawful ledger.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ledgers.raw import RUN, Body
from ledgers.telling import RESERVED, USAGE, Telling
from ledgers.values import sources, value_of


@dataclass(slots=True)
class Unit:
    """What was told of a task or an instance: the seqs of entries, and what later ones depend on."""

    agent: str | None = None
    step: int = 0
    attempts: int = 0
    checks: int = 0
    reserved: Mapping[str, int] = field(default_factory=dict)
    output: Body | None = None
    instances: int = 0
    expanded: int | None = None
    delivered: int | None = None
    gate: int | None = None
    decided: int | None = None
    started: int | None = None
    closed: int | None = None
    asked: int | None = None
    ended: int | None = None


class Story(Telling):
    def __init__(self, plan: bytes | None = None, *, run: str = RUN, **opening: Any) -> None:
        self.units: dict[str, Unit] = {}
        super().__init__(plan, run=run, **opening)

    def unit(self, name: str) -> Unit:
        return self.units.setdefault(name, Unit())

    def task(self, name: str) -> Mapping[str, Any]:
        """The plan's task of a unit: an instance's name has a number in brackets at its end."""
        tasks: Mapping[str, Mapping[str, Any]] = self.plan["tasks"]
        return tasks[name] if name in tasks else tasks[name.rpartition("[")[0]]

    def value(self, value: Mapping[str, Any]) -> Body:
        return value_of(value, self._output, self._outputs)

    def last_ended(self, value: Mapping[str, Any]) -> int:
        return max(ended for task in sources(value) if (ended := self.unit(task).ended) is not None)

    def expand(self, task: str) -> int:
        foreach = self.task(task)["foreach"]
        items = self.value(foreach["from"])
        unit = self.unit(task)
        unit.instances = len(json.loads(items.content))
        data = {"task": task, "instances": unit.instances}
        unit.expanded = self.tell(
            "task.expanded", data, bodies={"items": items}, causes=(self.last_ended(foreach["from"]),)
        )
        return unit.expanded

    def deliver(self, name: str) -> None:
        """Hands over what the data edges bring, by their names, and to an instance its item."""
        task = self.task(name)
        edges = {edge["as"]: edge["from"] for edge in task.get("needs", ()) if edge["edge"] == "data"}
        for edge, value in edges.items():
            self._deliver(name, edge, self.value(value), self.last_ended(value))
        if "foreach" in task:
            template, _, number = name.rpartition("[")
            item = {"list": [task["foreach"]["from"]], "select": f"/0/{number.rstrip(']')}"}
            self._deliver(name, task["foreach"]["as"], self.value(item), self.unit(template).expanded)

    def route(self, name: str, agent: str, by: str = "keywords") -> int:
        self.unit(name).agent = agent
        scores = Body(b"the words of the instruction are those of the agent")
        return self.tell("route.decided", {"task": name, "agent": agent, "by": by}, bodies={"scores": scores})

    def gate(self, name: str) -> int:
        data = {"task": name}
        span_ms = self.task(name)["gate"].get("deadline_ms")
        if span_ms is not None:
            data["deadline"] = self.time(span_ms)
        unit = self.unit(name)
        displayed = self.body(f"May {name} start?", salted=self.is_sensitive(name))
        unit.gate = self.tell("gate.opened", data, bodies={"displayed": displayed}, causes=(unit.delivered,))
        return unit.gate

    def decide(self, name: str, decision: str, by: str = "person", **bodies: Body) -> int:
        unit = self.unit(name)
        assert unit.gate is not None
        displayed = self.entries[unit.gate].bodies["displayed"].digest
        data = {"task": name, "decision": decision, "by": by, "authenticated": by == "person", "displayed": displayed}
        actor = "person:ada" if by == "person" else "runner"
        unit.decided = self.tell("gate.decided", data, bodies=bodies, causes=(unit.gate,), actor=actor)
        return unit.decided

    def start(self, name: str, **reserved: int) -> int:
        unit = self.unit(name)
        unit.attempts += 1
        unit.checks = 0
        unit.reserved = RESERVED | reserved
        agent, tier, adapter = self._worker(name)
        fingerprint = hashlib.sha256(f"{name} {tier}".encode()).hexdigest()
        data = {"task": name, "attempt": unit.attempts, "agent": agent, "tier": tier, "adapter": adapter}
        prompt = self.body(f"{name}, attempt {unit.attempts}", salted=self.is_sensitive(name))
        unit.started = self.tell(
            "task.started",
            {**data, "fingerprint": fingerprint, "reserved": unit.reserved},
            bodies={"prompt": prompt},
            causes=(unit.delivered, unit.decided) if unit.attempts == 1 else (unit.closed,),
        )
        self.totals["calls"] += 1
        return unit.started

    def finish(self, name: str, output: object, **usage: int) -> int:
        made = self.body(output, salted=self.is_sensitive(name))
        self.unit(name).output = made
        return self._close(name, {"status": "ok"}, {"output": made}, usage)

    def fail(self, name: str, error: str, **usage: int) -> int:
        detail = Body(f"{name}: {error}".encode())
        return self._close(name, {"status": "error", "error": error}, {"detail": detail}, usage)

    def cancel(self, name: str) -> int:
        return self._close(name, {"status": "cancelled"}, {}, {})

    def lose(self, name: str) -> int:
        unit = self.unit(name)
        self.charge(unit.reserved)
        data = {"task": name, "attempt": unit.attempts}
        unit.closed = self.tell("task.lost", data, causes=(unit.started,))
        return unit.closed

    def reuse(self, name: str, output: object, **data: Any) -> int:
        unit = self.unit(name)
        unit.output = self.body(output, salted=self.is_sensitive(name))
        facts = {"task": name, "fingerprint": hashlib.sha256(name.encode()).hexdigest(), **data}
        return self.tell("task.reused", facts, bodies={"output": unit.output}, causes=(unit.delivered,))

    def ask(self, name: str, **reserved: int) -> int:
        """Begins the next check, by a command or an agent."""
        unit = self.unit(name)
        unit.reserved = RESERVED | reserved
        data = {**self._check(name), "reserved": unit.reserved}
        if data["by"] == "agent":
            agent = self.task(name)["accept"][unit.checks]["agent"]
            tier = self.plan["agents"][agent]["tier"]
            data |= {"agent": agent, "tier": tier, "adapter": self.plan["agents"][agent]["adapters"][tier]}
            self.totals["calls"] += 1
        unit.asked = self.tell("verdict.asked", data, bodies={"prompt": Body(b"does it hold?")}, causes=(unit.closed,))
        return unit.asked

    def judge(self, name: str, verdict: str = "pass", **usage: int) -> int:
        """Ends the check that is under way, or makes one by a schema."""
        unit = self.unit(name)
        data = {**self._check(name), "verdict": verdict}
        cause = unit.closed
        if data["by"] != "schema":
            cause = unit.asked
            data["usage"] = USAGE | usage
            self.charge(data["usage"])
        if verdict == "none":
            data["error"] = "malformed"
        unit.checks += verdict == "pass"
        return self.tell("verdict.given", data, bodies={"reason": Body(b"because")}, causes=(cause,))

    def check(self, name: str, verdict: str = "pass") -> int:
        if self._check(name)["by"] != "schema":
            self.ask(name)
        return self.judge(name, verdict)

    def lose_check(self, name: str) -> int:
        unit = self.unit(name)
        self.charge(unit.reserved)
        data = {key: value for key, value in self._check(name).items() if key != "by"}
        return self.tell("verdict.lost", data, causes=(unit.asked,))

    def escalate(self, name: str) -> int:
        unit = self.unit(name)
        before = self._worker(name)[1]
        unit.step += 1
        data = {"task": name, "from": before, "to": self._worker(name)[1]}
        return self.tell("escalation.raised", data, causes=(unit.closed,))

    def end(self, name: str, state: str = "passed", reason: str | None = None) -> int:
        unit = self.unit(name)
        self.states[name] = state
        data = {"task": name, "state": state} | ({"reason": reason} if reason else {})
        unit.ended = self.tell("task.ended", data, causes=(unit.closed,))
        return unit.ended

    def do(self, name: str, output: object, **usage: int) -> None:
        """All of a task that goes well at its first attempt."""
        self.deliver(name)
        self.start(name)
        self.finish(name, output, **usage)
        for _ in self.task(name).get("accept", ()):
            self.check(name)
        self.end(name)

    def answer(self, output: str) -> int:
        value = self.plan["outputs"][output]
        return self.tell(
            "answer.given", {"output": output}, bodies={"value": self.value(value)}, causes=(self.last_ended(value),)
        )

    def is_sensitive(self, name: str) -> bool:
        return "sensitive" in self.task(name)

    def _deliver(self, name: str, edge: str, value: Body, cause: int | None) -> None:
        given = self.body(value, salted=True) if self.is_sensitive(name) else value
        data = {"task": name, "as": edge}
        self.unit(name).delivered = self.tell("edge.delivered", data, bodies={"value": given}, causes=(cause,))

    def _close(self, name: str, outcome: dict[str, Any], bodies: dict[str, Body], usage: dict[str, int]) -> int:
        unit = self.unit(name)
        used = USAGE | usage
        self.charge(used)
        data = {"task": name, "attempt": unit.attempts, **outcome, "usage": used, "measured": True}
        actor = f"agent:{self._worker(name)[0]}"
        unit.closed = self.tell("task.finished", data, bodies=bodies, causes=(unit.started,), actor=actor)
        return unit.closed

    def _check(self, name: str) -> dict[str, Any]:
        unit = self.unit(name)
        (by,) = self.task(name)["accept"][unit.checks]
        return {"task": name, "attempt": unit.attempts, "check": unit.checks, "by": by}

    def _worker(self, name: str) -> tuple[str, str, str]:
        """Agent, tier and adapter of the current step of the ladder."""
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
