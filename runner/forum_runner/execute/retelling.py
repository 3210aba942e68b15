"""Tells a run again from its record: the machine is given the recorded answers and times, and must write the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from forum_runner.execute.events import Interrupted, Lost, Replied, Step, TimePassed, Told
from forum_runner.execute.machine import Context, Machine, Reusable
from forum_runner.execute.plan import RunPlan
from forum_runner.execute.recorded_replies import reply_of
from forum_runner.execute.restore import RecordedBodies, read_entries
from forum_runner.execute.unit import Unit
from forum_runner.execute.values import RecordedBody, StoredBytes
from forum_runner.ledger.archive import SALT_BYTES, SALTED, commitment
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry

# Entries that are not the machine's: another hand wrote them, and they are taken as they are.
_FOREIGN = ("run.repaired", "body.redacted")
# What a machine tells of its clock, before it looks at what happened.
_DUE = ("gate.decided", "budget.stopped")
# What stands between an interrupt and the pause that follows it: calls that end.
_CLOSING = ("task.finished", "verdict.given", "task.lost", "verdict.lost", "budget.exceeded", "run.paused")


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where what is told parts from what is recorded: `told` is None where the machine has nothing more to say."""

    seq: int
    recorded: Mapping[str, Any] | None
    told: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Retold:
    """How far the story was the same: all entries, or up to a divergence."""

    entries: int
    calls: int
    divergence: Divergence | None
    is_complete: bool


class Retelling:
    def __init__(self, directory: Path) -> None:
        self._stream = (directory / BODIES).open("rb")
        self._bodies = RecordedBodies(self._stream)
        self._reader = BodyReader(self._stream)
        self._entries = list(read_entries(directory))
        opened = self._entries[0]
        self._plan = RunPlan(orjson.loads(self._bodies.body(opened.bodies["wave_plan"]).data))
        self._at = 1
        self._calls = 0
        self._reused = {entry.data["task"]: entry for entry in self._entries if entry.kind == "task.reused"}
        secrets = {
            name: f"[secret: {name}]" for name, item in self._plan.document["inputs"].items() if "secret" in item
        }
        self._context = Context(
            run=opened.run,
            implementation=opened.data["implementation"],
            settings=self._plan.adapters,
            check_settings={"type": "command"},
            secrets=secrets,
            find_reusable=self._find_reusable,
        )
        self._machine = self._restored()

    def _restored(self) -> Machine:
        """A machine that has taken in what is recorded up to here, as a new process has."""
        machine = Machine(self._plan, self._context)
        for entry in self._entries[: self._at]:
            bodies = {} if entry.kind == "run.opened" else self._bodies.of(entry)
            machine.state.apply(entry.kind, read_time(entry.at), entry.data, bodies)
        return machine

    def close(self) -> None:
        self._stream.close()

    def tell(self) -> Retold:
        divergence = self._compare(self._machine.open(self._time(min(1, len(self._entries) - 1))))
        while divergence is None and self._at < len(self._entries) and not self._machine.state.is_sealed:
            divergence = self._next()
        is_complete = divergence is None and self._at == len(self._entries)
        if divergence is None and not is_complete:
            # After a seal only foreign entries and seals with the same facts follow: verification looks at those.
            is_complete = self._machine.state.is_sealed
        return Retold(self._at, self._calls, divergence, is_complete)

    def _time(self, seq: int) -> int:
        return read_time(self._entries[seq].at)

    def _next(self) -> Divergence | None:
        """Nothing is left to be said: the next recorded entry shows what happened."""
        entry = self._entries[self._at]
        now_us = read_time(entry.at)
        machine = self._machine
        if entry.kind in _FOREIGN or entry.kind.startswith("x-") or _is_by_a_person(entry):
            machine.state.apply(entry.kind, now_us, entry.data, self._bodies.of(entry))
            self._at += 1
            return None
        if entry.kind == "run.resumed":
            self._context = replace(self._context, implementation=entry.data["implementation"])
            self._machine = self._restored()
            return self._compare(self._machine.resume(now_us))
        if not machine.is_pausing and self._was_interrupted():
            return self._compare(machine.handle(Interrupted(), now_us))
        event: Replied | Lost | TimePassed | None = self._event(self._what_happened())
        if event is None:
            wake_us = machine.next_wake_us()
            if wake_us is None or wake_us > now_us:
                return Divergence(self._at, _form(entry), None)
            event = TimePassed()
        before = self._at
        divergence = self._compare(machine.handle(event, now_us))
        if divergence is None and self._at == before:
            return Divergence(self._at, _form(entry), None)
        return divergence

    def _what_happened(self) -> ReadEntry:
        """The entry that shows the event: what had come due at the same moment is told before it."""
        entry = self._entries[self._at]
        for later in self._entries[self._at :]:
            if later.at != entry.at:
                break
            if later.kind not in _DUE:
                return later
        return entry

    def _is_cut_off_here(self) -> bool:
        """Whether the process was killed here: nothing follows, or only what another one wrote that went on."""
        for entry in self._entries[self._at :]:
            if entry.kind == "run.resumed":
                return True
            if entry.kind not in _FOREIGN and not entry.kind.startswith("x-") and not _is_by_a_person(entry):
                return False
        return True

    def _was_interrupted(self) -> bool:
        """Whether from here on calls only end: up to a pause that an interrupt asked for, or to where a process did not
        come to write one."""
        has_cancelled = False
        for entry in self._entries[self._at :]:
            if entry.kind == "run.paused":
                return bool(entry.data["reason"] == "interrupted")
            if entry.kind in ("run.resumed", *_FOREIGN):
                break
            if entry.kind == "gate.decided" and not _is_by_a_person(entry):
                continue  # It came due at the moment of the interrupt.
            if entry.kind not in _CLOSING or entry.data.get("by") == "schema":
                return False
            has_cancelled = has_cancelled or entry.data.get("status") == "cancelled"
        return has_cancelled

    def _event(self, entry: ReadEntry) -> Replied | Lost | None:
        if entry.kind not in ("task.finished", "verdict.given", "task.lost", "verdict.lost"):
            return None
        unit = self._machine.state.units.get(entry.data["task"])
        if unit is None or unit.call is None:
            return None
        if entry.kind.endswith("lost"):
            return Lost(unit.call.id)
        self._calls += 1
        return Replied(unit.call.id, reply_of(entry, self._bodies.of(entry), is_model=self._is_model(unit)))

    def _is_model(self, unit: Unit) -> bool:
        adapter = unit.call.adapter if unit.call is not None else None
        return adapter is not None and self._plan.adapters[adapter]["type"] != "command"

    def _find_reusable(self, unit: Unit, _fingerprint: str) -> Reusable | None:
        entry = self._reused.get(unit.name)
        if entry is None:
            return None
        data = entry.data
        return Reusable(data["ground"], data["run"], data["seq"], self._bodies.body(entry.bodies["output"]))

    def _compare(self, step: Step) -> Divergence | None:
        for told in step.entries:
            if told.kind != "run.resumed" and self._is_cut_off_here():
                self._machine = self._restored()
                return None
            form = self._form(told)
            recorded = _form(self._entries[self._at]) if self._at < len(self._entries) else None
            if recorded is None or not _agree(recorded, form):
                return Divergence(self._at, recorded, form)
            self._keep_what_was_shown(told)
            self._at += 1
        return None

    def _keep_what_was_shown(self, told: Told) -> None:
        if told.kind == "gate.opened":
            gate = self._machine.state.units[told.data["task"]].gate
            if gate is not None:
                gate.shown = self._entries[self._at].bodies["shown"]["digest"]

    def _form(self, told: Told) -> dict[str, Any]:
        """An entry as the ledger would have it; salts are those that are recorded there."""
        recorded: Mapping[str, Any] = self._entries[self._at].bodies if self._at < len(self._entries) else {}
        bodies = {name: self._reference(body, recorded.get(name)) for name, body in told.bodies.items()}
        data = dict(told.data)
        return {
            "kind": told.kind,
            "actor": told.actor,
            "causes": sorted(set(told.causes)),
            "data": data,
            "bodies": bodies,
        }

    def _reference(self, body: StoredBytes, recorded: Mapping[str, Any] | None) -> dict[str, Any]:
        if isinstance(body, RecordedBody) or not body.is_sensitive:
            data = body.data
            return {"bytes": len(data), "digest": sha256(data).hexdigest(), "type": body.type}
        salt = b""
        if recorded is not None and "salted" in recorded:
            salt = (self._reader.content(f"{SALTED}/{recorded['digest']}") or b"")[:SALT_BYTES]
        digest = commitment(salt + body.data)
        return {"bytes": len(body.data), "digest": digest, "salted": True, "type": body.type}


def _is_by_a_person(entry: ReadEntry) -> bool:
    return entry.kind == "gate.decided" and entry.data.get("by") == "person"


def _form(entry: ReadEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "actor": entry.actor,
        "causes": list(entry.causes),
        "data": dict(entry.data),
        "bodies": {name: dict(body) for name, body in entry.bodies.items()},
    }


def _agree(recorded: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """A seal's root is of all entries before it: the same, if they are."""
    if recorded["kind"] == told["kind"] == "run.sealed":
        facts = {name: value for name, value in recorded["data"].items() if name != "root"}
        return bool(facts == told["data"])
    return recorded == told
