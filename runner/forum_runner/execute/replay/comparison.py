"""Replays the entries of one process: sends candidate events to a machine, and compares every entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from forum_runner.execute.machine import Context, Machine, Replied, Reusable, Transition, Unit
from forum_runner.execute.replay.event_candidates import EventCandidates, Session, is_by_person, is_foreign
from forum_runner.ledger.archive import SALT_BYTES, SALTED, commitment
from forum_runner.ledger.clock import read_time, written_time
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recorded_body import AnyBody, RecordedBody


@dataclass(frozen=True, slots=True)
class ReplayDivergence:
    """The first entry that differs; `replayed` is None if the machine writes no entry here."""

    seq: int
    recorded: Mapping[str, Any] | None
    replayed: Mapping[str, Any] | None


class ReplayAttempt:
    """One try to replay a session: at every choice the first candidate, or the one that `otherwise` names for it.

    `choices` holds the number of candidates, wherever there was more than one.
    """

    def __init__(self, session: Session, candidates: EventCandidates, otherwise: dict[int, int]) -> None:
        self._session = session
        self._entries = session.entries
        self._candidates = candidates
        self.otherwise = otherwise
        self._machine = self._restored()
        self.choices: list[int] = []
        self.calls = 0
        # The first entry that was not compared.
        self.at = max(session.start, 1)
        self.is_sealed = False
        self.divergence: ReplayDivergence | None = None

    def _restored(self) -> Machine:
        """A machine with all entries before the session applied, as a process has after a resume."""
        session, opened = self._session, self._entries[0]
        context = Context(
            run=opened.run,
            implementation=self._entries[session.start].data["implementation"],
            settings={name: adapter.settings for name, adapter in session.plan.adapters.items()},
            check_settings={"type": "command"},
            secrets={name: f"[secret: {name}]" for name in session.plan.secret_names()},
            find_reusable=self._find_reusable,
        )
        machine = Machine(session.plan, context)
        machine.state.apply(opened.kind, read_time(opened.at), opened.data, {})
        for entry in self._entries[1 : session.start]:
            machine.state.apply(entry.kind, read_time(entry.at), entry.data, session.bodies.of_entry(entry))
        return machine

    def run(self) -> ReplayDivergence | None:
        """Replays the session to its end, or to the first entry that differs."""
        begin_us = read_time(self._entries[min(self.at, len(self._entries) - 1)].at)
        begin = self._machine.resume if self._session.start else self._machine.open
        self.divergence = self._compare(begin(begin_us), begin_us)
        while self.divergence is None and self.at < self._session.end and not self.is_sealed:
            self.divergence = self._next_event()
        return self.divergence

    def _next_event(self) -> ReplayDivergence | None:
        """Every entry of the last event was compared: sends the next event."""
        machine, entry = self._machine, self._entries[self.at]
        is_event = is_by_person(entry) and machine.outcome is None and not self._is_cut_off_here()
        if is_foreign(entry) and not is_event:
            machine.state.apply(entry.kind, read_time(entry.at), entry.data, self._session.bodies.of_entry(entry))
            self.at += 1
            return None
        candidates = self._candidates.next(machine, self.at)
        if not candidates:
            return ReplayDivergence(self.at, _document(entry), None)
        choice = 0
        if len(candidates) > 1:
            choice = self.otherwise.get(len(self.choices), 0)
            self.choices.append(len(candidates))
        event, at_us = candidates[choice]
        self.calls += isinstance(event, Replied)
        return self._compare(machine.handle(event, at_us), at_us)

    def _find_reusable(self, unit: Unit, _fingerprint: str) -> Reusable | None:
        """A result that was found is recorded at once: if the next entry is another one, none was found."""
        state = self._machine.state
        entry = self._entries[state.seq] if state.seq < self._session.end else None
        if entry is None or entry.kind != "task.reused" or entry.data["task"] != unit.name:
            return None
        if read_time(entry.at) != self._machine.state.now_us:
            return None
        data = entry.data
        return Reusable(data["source"], data["run"], data["seq"], self._session.bodies.body(entry.bodies["output"]))

    def _compare(self, transition: Transition, at_us: int) -> ReplayDivergence | None:
        at = written_time(at_us)
        for new in transition.entries:
            if self._is_cut_off_here():
                self.at = self._session.end
                return None
            entry, replayed = self._entries[self.at], self._new_document(new)
            recorded = _document(entry)
            if not _agree(recorded, replayed):
                return ReplayDivergence(self.at, recorded, replayed)
            if entry.at != at:
                # All entries that an event leads to have its time (RUN-ORDER-001): this one has another cause.
                return ReplayDivergence(self.at, recorded, None)
            self._restore_displayed_digest(new)
            self.is_sealed = new.kind == "run.sealed"
            self.at += 1
        return None

    def _is_cut_off_here(self) -> bool:
        """Whether the process was killed here: the rest of the session was not written by it."""
        return all(is_foreign(self._entries[place]) for place in range(self.at, self._session.end))

    def _restore_displayed_digest(self, new: NewEntry) -> None:
        """A salted body has another digest in the ledger than in this machine."""
        if new.kind == "gate.opened":
            gate = self._machine.state.units[new.data["task"]].gate
            if gate is not None:
                gate.displayed = self._entries[self.at].bodies["displayed"]["digest"]

    def _new_document(self, new: NewEntry) -> dict[str, Any]:
        """The entry as the ledger would hold it, with the recorded salts."""
        recorded = self._entries[self.at].bodies
        return {
            "kind": new.kind,
            "actor": new.actor,
            "causes": sorted(set(new.causes)),
            "data": dict(new.data),
            "bodies": {name: self._reference(body, recorded.get(name)) for name, body in new.bodies.items()},
        }

    def _reference(self, body: AnyBody, recorded: Mapping[str, Any] | None) -> dict[str, Any]:
        if isinstance(body, RecordedBody) or not body.is_sensitive:
            data = body.data
            return {"bytes": len(data), "digest": sha256(data).hexdigest(), "type": body.type}
        salt = b""
        if recorded is not None and "salted" in recorded:
            content = self._session.bodies.reader.content(f"{SALTED}/{recorded['digest']}")
            salt = (content or b"")[:SALT_BYTES]
        digest = commitment(salt + body.data)
        return {"bytes": len(body.data), "digest": digest, "salted": True, "type": body.type}


def _document(entry: ReadEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "actor": entry.actor,
        "causes": list(entry.causes),
        "data": dict(entry.data),
        "bodies": {name: dict(body) for name, body in entry.bodies.items()},
    }


def _agree(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> bool:
    """The root of a seal follows from all entries before it, so it is not compared."""
    if recorded["kind"] == "run.sealed":
        facts = {name: value for name, value in recorded["data"].items() if name != "root"}
        recorded = {**recorded, "data": facts}
    return recorded == replayed
