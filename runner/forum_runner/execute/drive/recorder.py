"""Writes the machine's entries to the ledger and passes them to an observer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forum_runner.execute.machine import RunState
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.body import Body
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.recorded_body import AnyBody
from forum_runner.ledger.writer import LedgerWriter

# The most frequent kinds. They are not validated, because the machine always writes them with the same members, and
# tests check these against the schema.
_TRUSTED_KINDS = frozenset({"task.started", "task.finished", "task.ended", "edge.delivered", "wave.opened"})
# Called with the seq, time, kind and data of an entry.
Observe = Callable[[int, int, str, Mapping[str, Any]], None]


class RunClock:
    """The time of the current event, which all entries that the event leads to have."""

    __slots__ = ("now_us",)

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us


class Recorder:
    """Writes entries for a driver. If `waits_for_disk` is set, a commit takes long and should run in a thread."""

    def __init__(
        self, writer: LedgerWriter, state: RunState, scrubber: Scrubber, observe: Observe | None = None
    ) -> None:
        self._writer = writer
        self.waits_for_disk = writer.syncs_each_commit
        self._state = state
        self._scrubber = scrubber
        self._observe = observe
        self._trusted_kinds = frozenset() if scrubber.has_secrets else _TRUSTED_KINDS
        self._unobserved: list[tuple[int, int, str, Mapping[str, Any]]] = []

    def write(self, entries: Sequence[NewEntry]) -> None:
        """Stages the entries. The observer gets them after the commit."""
        if not entries:
            return
        first = self._writer.size
        if all(entry.kind in self._trusted_kinds for entry in entries):
            self._writer.stage_trusted(entries)
        else:
            for entry in entries:
                self._stage(entry)
        if self._observe is not None:
            at_us = self._state.last_entry_us
            self._unobserved += [(seq, at_us, entry.kind, entry.data) for seq, entry in enumerate(entries, first)]

    def _stage(self, entry: NewEntry) -> None:
        kind, data, causes = entry.kind, entry.data, entry.causes
        if kind in self._trusted_kinds:
            self._writer.stage_trusted((entry,))
            return
        bodies = {name: self._scrubbed(body) for name, body in entry.bodies.items()}
        if kind == "run.sealed":
            self._writer.seal(**data)
        elif kind == "answer.given":
            self._writer.answer(data["output"], bodies["value"], causes=causes)
        else:
            self._writer.stage(kind, data, bodies=bodies, causes=causes, actor=entry.actor)
        if kind == "gate.opened":
            gate = self._state.units[data["task"]].gate
            if gate is not None:
                gate.displayed = self._writer.digests_of_last()["displayed"]

    def _scrubbed(self, body: AnyBody) -> Body:
        return self._scrubber.scrub_body(
            body if isinstance(body, Body) else Body(body.data, body.type, body.is_sensitive)
        )

    def commit(self) -> None:
        self._writer.commit()
        if self._unobserved:
            self._notify_observer()

    async def commit_in_thread(self) -> None:
        """Like `commit`, but waiting for the disk does not block the event loop."""
        await asyncio.get_running_loop().run_in_executor(None, self._writer.commit)
        self._notify_observer()

    def _notify_observer(self) -> None:
        if self._observe is not None and self._unobserved:
            unobserved, self._unobserved = self._unobserved, []
            for entry in unobserved:
                self._observe(*entry)
