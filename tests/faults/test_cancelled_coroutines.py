"""Cancelled coroutines lose no entry: neither their own last entry nor entries of others in the same commit."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from faults.aftermath import check_acknowledged, check_valid
from faults.numbered import append_numbered
from forum_runner.ledger import Body, GroupCommit, LedgerBrokenError, create_ledger

pytestmark = pytest.mark.requirement("LEDGER-WRITE-003")


def test_cancelled_coroutines_can_still_write_a_last_entry(tmp_path: Path) -> None:
    acknowledged = []

    async def work(group: GroupCommit, number: int) -> None:
        try:
            while True:
                await append_numbered(group.append, number)
        finally:
            acknowledged.append((await append_numbered(group.append, number), number))

    async def start_and_return(group: GroupCommit) -> None:
        for number in range(1, 9):
            asyncio.get_running_loop().create_task(work(group, number))
        await asyncio.sleep(0.01)

    with create_ledger(tmp_path / "run") as ledger:
        asyncio.run(start_and_return(GroupCommit(ledger)))
        ledger.seal("passed")

    assert sorted(number for _, number in acknowledged) == list(range(1, 9))
    check_valid(tmp_path / "run")
    check_acknowledged(tmp_path / "run", acknowledged)


def test_cancelling_some_appends_does_not_lose_the_others(tmp_path: Path) -> None:
    async def work(group: GroupCommit) -> list[tuple[int, int]]:
        tasks = [asyncio.ensure_future(append_numbered(group.append, number)) for number in range(1, 40)]
        await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return [(seq, number) for number, seq in enumerate(results, 1) if isinstance(seq, int)]

    with create_ledger(tmp_path / "run") as ledger:
        acknowledged = asyncio.run(work(GroupCommit(ledger)))
        ledger.seal("passed")

    assert len(acknowledged) == 26
    check_valid(tmp_path / "run")
    check_acknowledged(tmp_path / "run", acknowledged)


@pytest.mark.requirement("LEDGER-WRITE-004")
def test_a_failed_commit_raises_in_every_waiting_append(tmp_path: Path) -> None:
    async def work(group: GroupCommit) -> list[object]:
        first = await asyncio.gather(*(append(group) for _ in range(5)), return_exceptions=True)
        return [*first, *await asyncio.gather(append(group), return_exceptions=True)]

    async def append(group: GroupCommit) -> int:
        return await group.append("x-body", bodies={"body": Body(b"body")})

    ledger = create_ledger(tmp_path / "run")
    ledger.close()
    with suppress(LedgerBrokenError):
        results = asyncio.run(work(GroupCommit(ledger)))

    assert [type(result) for result in results] == [LedgerBrokenError] * 6
