"""Tells again what one process wrote: event after event, as they are guessed, and every entry is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from forum_runner.execute.machine import Context, Machine, NewEntry, Replied, Reusable, Transition, Unit
from forum_runner.execute.replay.event_candidates import EventCandidates, Part, is_by_a_person, is_foreign
from forum_runner.ledger.archive import SALT_BYTES, SALTED, commitment
from forum_runner.ledger.clock import read_time, written_time
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recorded_body import RecordedBody, StoredBytes


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where the replay differs from the record: `replayed` is None where the machine writes nothing more."""

    seq: int
    recorded: Mapping[str, Any] | None
    replayed: Mapping[str, Any] | None


class Telling:
    """One way to tell a part: at every choice the first guess, or the one that `otherwise` gives for that choice.

    `choices` holds how many guesses there were, wherever there was more than one.
    """

    def __init__(self, part: Part, guesses: EventCandidates, otherwise: dict[int, int]) -> None:
        self._part = part
        self._entries = part.entries
        self._guesses = guesses
        self.otherwise = otherwise
        self._machine = self._restored()
        self.choices: list[int] = []
        self.calls = 0
        # How far the story is the same.
        self.at = max(part.start, 1)
        self.is_sealed = False
        self.divergence: Divergence | None = None

    def _restored(self) -> Machine:
        """A machine that has taken in what is recorded up to here, as a new process has."""
        part, opened = self._part, self._entries[0]
        context = Context(
            run=opened.run,
            implementation=self._entries[part.start].data["implementation"],
            settings={name: adapter.settings for name, adapter in part.plan.adapters.items()},
            check_settings={"type": "command"},
            secrets={name: f"[secret: {name}]" for name in part.plan.secret_names()},
            find_reusable=self._find_reusable,
        )
        machine = Machine(part.plan, context)
        machine.state.apply(opened.kind, read_time(opened.at), opened.data, {})
        for entry in self._entries[1 : part.start]:
            machine.state.apply(entry.kind, read_time(entry.at), entry.data, part.bodies.of(entry))
        return machine

    def tell(self) -> Divergence | None:
        """Tells the part, to its end or to where the story parts from the record."""
        begin_us = read_time(self._entries[min(self.at, len(self._entries) - 1)].at)
        begin = self._machine.resume if self._part.start else self._machine.open
        self.divergence = self._compare(begin(begin_us), begin_us)
        while self.divergence is None and self.at < self._part.end and not self.is_sealed:
            self.divergence = self._go_on()
        return self.divergence

    def _go_on(self) -> Divergence | None:
        """Nothing is left to be said: something happened."""
        machine, entry = self._machine, self._entries[self.at]
        is_taken_up = is_by_a_person(entry) and machine.outcome is None and not self._is_cut_off_here()
        if is_foreign(entry) and not is_taken_up:
            machine.state.apply(entry.kind, read_time(entry.at), entry.data, self._part.bodies.of(entry))
            self.at += 1
            return None
        guesses = self._guesses.next(machine, self.at)
        if not guesses:
            return Divergence(self.at, _form(entry), None)
        taken = 0
        if len(guesses) > 1:
            taken = self.otherwise.get(len(self.choices), 0)
            self.choices.append(len(guesses))
        event, at_us = guesses[taken]
        self.calls += isinstance(event, Replied)
        return self._compare(machine.handle(event, at_us), at_us)

    def _find_reusable(self, unit: Unit, _fingerprint: str) -> Reusable | None:
        """What is found is recorded at once: if that is not the entry which comes next, nothing was found."""
        state = self._machine.state
        entry = self._entries[state.seq] if state.seq < self._part.end else None
        if entry is None or entry.kind != "task.reused" or entry.data["task"] != unit.name:
            return None
        if read_time(entry.at) != self._machine.state.now_us:
            return None
        data = entry.data
        return Reusable(data["source"], data["run"], data["seq"], self._part.bodies.body(entry.bodies["output"]))

    def _compare(self, step: Transition, at_us: int) -> Divergence | None:
        at = written_time(at_us)
        for told in step.entries:
            if self._is_cut_off_here():
                self.at = self._part.end
                return None
            entry, form = self._entries[self.at], self._form(told)
            recorded = _form(entry)
            if not _agree(recorded, form):
                return Divergence(self.at, recorded, form)
            if entry.at != at:
                # All entries that an event leads to have its time (RUN-ORDER-001): at another, nothing is to be said.
                return Divergence(self.at, recorded, None)
            self._restore_displayed_digest(told)
            self.is_sealed = told.kind == "run.sealed"
            self.at += 1
        return None

    def _is_cut_off_here(self) -> bool:
        """Whether the process was killed here: nothing follows that it wrote."""
        return all(is_foreign(self._entries[place]) for place in range(self.at, self._part.end))

    def _restore_displayed_digest(self, told: NewEntry) -> None:
        if told.kind == "gate.opened":
            gate = self._machine.state.units[told.data["task"]].gate
            if gate is not None:
                gate.displayed = self._entries[self.at].bodies["displayed"]["digest"]

    def _form(self, told: NewEntry) -> dict[str, Any]:
        """An entry as the ledger would have it; salts are those that are recorded there."""
        recorded = self._entries[self.at].bodies
        return {
            "kind": told.kind,
            "actor": told.actor,
            "causes": sorted(set(told.causes)),
            "data": dict(told.data),
            "bodies": {name: self._reference(body, recorded.get(name)) for name, body in told.bodies.items()},
        }

    def _reference(self, body: StoredBytes, recorded: Mapping[str, Any] | None) -> dict[str, Any]:
        if isinstance(body, RecordedBody) or not body.is_sensitive:
            data = body.data
            return {"bytes": len(data), "digest": sha256(data).hexdigest(), "type": body.type}
        salt = b""
        if recorded is not None and "salted" in recorded:
            content = self._part.bodies.reader.content(f"{SALTED}/{recorded['digest']}")
            salt = (content or b"")[:SALT_BYTES]
        digest = commitment(salt + body.data)
        return {"bytes": len(body.data), "digest": digest, "salted": True, "type": body.type}


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
    if recorded["kind"] == "run.sealed":
        facts = {name: value for name, value in recorded["data"].items() if name != "root"}
        recorded = {**recorded, "data": facts}
    return recorded == told
