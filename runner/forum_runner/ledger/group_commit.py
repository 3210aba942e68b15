"""Group commit for coroutines: entries of parallel tasks share one write and one sync."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from forum_runner.ledger.body import Body
from forum_runner.ledger.writer import LedgerWriter


class GroupCommit:
    """Wraps a writer for one event loop. Entries that arrive during a commit are written by the next one.

    Callbacks start the commits, not a task: a program that shuts down cancels all tasks, and some of them still write
    entries while they end.
    """

    def __init__(self, writer: LedgerWriter) -> None:
        self._writer = writer
        self._waiting: list[asyncio.Future[None]] = []
        self._is_committing = False
        self._syncs_each_commit = writer.syncs_each_commit

    async def append(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        *,
        bodies: Mapping[str, Body] | None = None,
        causes: Sequence[int] = (),
        actor: str = "runner",
    ) -> int:
        """Writes an entry like `LedgerWriter.append`, but shares the write and the sync with other coroutines."""
        seq = self._writer.stage(kind, data, bodies=bodies, causes=causes, actor=actor)
        if not self._syncs_each_commit:
            self._writer.commit()
            return seq
        committed = asyncio.get_running_loop().create_future()
        self._waiting.append(committed)
        if not self._is_committing:
            self._commit()
        await committed
        return seq

    def _commit(self) -> None:
        commit = asyncio.get_running_loop().run_in_executor(None, self._writer.commit)
        waiting, self._waiting = self._waiting, []
        self._is_committing = True
        commit.add_done_callback(partial(self._settle, waiting))

    def _settle(self, waiting: list[asyncio.Future[None]], commit: asyncio.Future[None]) -> None:
        error = commit.exception()
        for committed in waiting:
            if committed.cancelled():
                continue
            if error is None:
                committed.set_result(None)
            else:
                committed.set_exception(error)
        # Runs after the coroutines that wake up here, so that their next entries share one commit.
        commit.get_loop().call_soon(self._commit_next)

    def _commit_next(self) -> None:
        self._is_committing = False
        if self._waiting:
            self._commit()
