"""Replays the entries of one process: sends candidate events to a machine, and compares every entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from forum_runner.execute.machine import Context, Machine, Replied, Reusable, Transition, Unit
from forum_runner.execute.replay.event_candidates import EventCandidates, Session, is_by_person, is_foreign
from forum_runner.ledger.archive import SALT_BYTES, SALTED, commitment
from forum_runner.ledger.clock import format_time, parse_time
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
    """One try to replay a session.

    At each choice between several candidates, it takes the first one, or the one that `alternatives` has for this
    choice. `candidate_counts` has the number of candidates at each choice. `position` is the first entry that was not
    compared.
    """

    def __init__(self, session: Session, candidates: EventCandidates, alternatives: dict[int, int]) -> None:
        self._session = session
        self._entries = session.entries
        self._candidates = candidates
        self.alternatives = alternatives
        self._machine = self._restored()
        self.candidate_counts: list[int] = []
        self.calls = 0
        self.position = max(session.start, 1)
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
        machine.state.apply(opened.kind, parse_time(opened.at), opened.data, {})
        for entry in self._entries[1 : session.start]:
            machine.state.apply(entry.kind, parse_time(entry.at), entry.data, session.bodies.of_entry(entry))
        return machine

    def run(self) -> ReplayDivergence | None:
        """Replays the session up to the first entry that differs, which is returned; None if there is none."""
        begin_us = parse_time(self._entries[min(self.position, len(self._entries) - 1)].at)
        begin = self._machine.resume if self._session.start else self._machine.open
        self.divergence = self._compare(begin(begin_us), begin_us)
        while self.divergence is None and self.position < self._session.end and not self.is_sealed:
            self.divergence = self._next_event()
        return self.divergence

    def _next_event(self) -> ReplayDivergence | None:
        """Sends the next event, after every entry of the last event was compared. Returns the divergence, if any."""
        machine, entry = self._machine, self._entries[self.position]
        is_event = is_by_person(entry) and machine.outcome is None and not self._is_cut_off_here()
        if is_foreign(entry) and not is_event:
            machine.state.apply(entry.kind, parse_time(entry.at), entry.data, self._session.bodies.of_entry(entry))
            self.position += 1
            return None
        candidates = self._candidates.next(machine, self.position)
        if not candidates:
            return ReplayDivergence(self.position, _recorded_document(entry), None)
        choice = 0
        if len(candidates) > 1:
            choice = self.alternatives.get(len(self.candidate_counts), 0)
            self.candidate_counts.append(len(candidates))
        event, at_us = candidates[choice]
        self.calls += isinstance(event, Replied)
        return self._compare(machine.handle(event, at_us), at_us)

    def _find_reusable(self, unit: Unit, _fingerprint: str) -> Reusable | None:
        """The result that the next entry records, if any. A result is recorded as soon as it is found."""
        state = self._machine.state
        entry = self._entries[state.seq] if state.seq < self._session.end else None
        if entry is None or entry.kind != "task.reused" or entry.data["task"] != unit.name:
            return None
        if parse_time(entry.at) != self._machine.state.now_us:
            return None
        data = entry.data
        return Reusable(data["source"], data["run"], data["seq"], self._session.bodies.body(entry.bodies["output"]))

    def _compare(self, transition: Transition, at_us: int) -> ReplayDivergence | None:
        time = format_time(at_us)
        for new in transition.entries:
            if self._is_cut_off_here():
                self.position = self._session.end
                return None
            entry, replayed = self._entries[self.position], self._replayed_document(new)
            recorded = _recorded_document(entry)
            if not _matches(recorded, replayed):
                return ReplayDivergence(self.position, recorded, replayed)
            if entry.at != time:
                # All entries that an event leads to have its time (RUN-ORDER-001), so another event led to this one.
                return ReplayDivergence(self.position, recorded, None)
            self._restore_displayed_digest(new)
            self.is_sealed = new.kind == "run.sealed"
            self.position += 1
        return None

    def _is_cut_off_here(self) -> bool:
        """Whether the process was killed here: only other writers wrote the rest of the session."""
        return all(is_foreign(self._entries[position]) for position in range(self.position, self._session.end))

    def _restore_displayed_digest(self, new: NewEntry) -> None:
        """Gives the gate the recorded digest: the salt of a body differs between the ledger and this machine."""
        if new.kind == "gate.opened":
            gate = self._machine.state.units[new.data["task"]].gate
            if gate is not None:
                gate.displayed = self._entries[self.position].bodies["displayed"]["digest"]

    def _replayed_document(self, new: NewEntry) -> dict[str, Any]:
        """The entry as the ledger would contain it, with the recorded salts."""
        recorded = self._entries[self.position].bodies
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


def _recorded_document(entry: ReadEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "actor": entry.actor,
        "causes": list(entry.causes),
        "data": dict(entry.data),
        "bodies": {name: dict(body) for name, body in entry.bodies.items()},
    }


def _matches(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> bool:
    """Whether two entries are equal. The root of a seal follows from all entries before it, so it is not compared."""
    if recorded["kind"] == "run.sealed":
        facts = {name: value for name, value in recorded["data"].items() if name != "root"}
        recorded = {**recorded, "data": facts}
    return recorded == replayed
