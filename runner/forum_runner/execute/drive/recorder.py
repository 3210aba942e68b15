"""Writes the machine's entries to the ledger and passes them to an observer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from forum_runner.execute.machine import RunState
from forum_runner.execute.secrets import Scrubber
from forum_runner.ledger.body import Body
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.recorded_body import AnyBody
from forum_runner.ledger.writer import LedgerWriter

# The most frequent kinds. The machine always writes them with the same members, and tests check these against the
# schema, so they are not validated again.
_SOUND = frozenset({"task.started", "task.finished", "task.ended", "edge.delivered", "wave.opened"})
Watcher = Callable[[int, int, str, Mapping[str, Any]], None]


class RunClock:
    """The time of the current event. All entries that it leads to have this time."""

    __slots__ = ("now_us",)

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us


class Record(Protocol):
    """Where a driver writes entries. `waits_for_disk`: a commit takes long, so it should not block the event loop."""

    waits_for_disk: bool

    def write(self, entries: Sequence[NewEntry]) -> None: ...

    def commit(self) -> None: ...

    async def commit_together(self) -> None: ...


class Recorder:
    def __init__(self, writer: LedgerWriter, state: RunState, scrubber: Scrubber, watch: Watcher | None = None) -> None:
        self._writer = writer
        self.waits_for_disk = writer.syncs_each
        self._state = state
        self._scrubber = scrubber
        self._watch = watch
        self._unscrubbed = frozenset() if scrubber.has_secrets else _SOUND
        self._unseen: list[tuple[int, int, str, Mapping[str, Any]]] = []

    def write(self, entries: Sequence[NewEntry]) -> None:
        """Stages the entries. The observer gets them after the commit."""
        if not entries:
            return
        first = self._writer.size
        if all(entry.kind in self._unscrubbed for entry in entries):
            self._writer.stage_trusted(entries)
        else:
            for entry in entries:
                self._place(entry)
        if self._watch is not None:
            at_us = self._state.last_entry_us
            self._unseen += [(seq, at_us, entry.kind, entry.data) for seq, entry in enumerate(entries, first)]

    def _place(self, entry: NewEntry) -> None:
        kind, data, causes = entry.kind, entry.data, entry.causes
        if kind in self._unscrubbed:
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
        if self._unseen:
            self._show()

    async def commit_together(self) -> None:
        """Like `commit`, in a thread: waiting for the disk does not block the event loop."""
        await asyncio.get_running_loop().run_in_executor(None, self._writer.commit)
        self._show()

    def _show(self) -> None:
        if self._watch is not None and self._unseen:
            unseen, self._unseen = self._unseen, []
            for entry in unseen:
                self._watch(*entry)
