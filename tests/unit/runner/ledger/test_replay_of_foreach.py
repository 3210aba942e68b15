"""Level 4 and `foreach`: work and memory follow what happened, not what was promised."""

from pathlib import Path
from typing import Any

import pytest

from forum_runner.ledger import find_ledger, verify
from forum_runner.ledger.replay.state import Reference, RunState
from forum_runner.ledger.replay.values import read_items
from ledgers import LEDGERS


@pytest.mark.requirement("LEDGER-REPLAY-006")
def test_items_are_read_once_however_many_instances_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Reference] = []

    def count(state: RunState, body: Reference) -> list[Any] | None:
        read.append(body)
        return read_items(state, body)

    monkeypatch.setattr("forum_runner.ledger.replay.begin_rules.read_items", count)

    assert not verify(find_ledger(str(LEDGERS["eager_foreach"](tmp_path / "run")))).codes
    kinds = (tmp_path / "run" / "ledger.jsonl").read_text().count('"kind":"task.expanded"')
    assert len(read) == kinds > 0
