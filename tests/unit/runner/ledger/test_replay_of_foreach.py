"""Level 4 and `foreach`: work and memory follow what happened, not what was promised."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forum_runner.ledger import find_ledger, verify
from forum_runner.ledger.replay.state import Reference, RunState
from forum_runner.ledger.replay.values import read_items
from ledgers import LEDGERS, STORIES
from ledgers.raw import Body


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


@pytest.mark.requirement("LEDGER-REPLAY-006")
@pytest.mark.parametrize(("content", "expected"), [(b'[{"n":1},"two",3]', ()), (b'[{"n": 1},"two",3]', ("L419",))])
def test_items_are_a_canonical_list_whatever_type_the_body_has(
    content: bytes, expected: tuple[str, ...], tmp_path: Path
) -> None:
    story = STORIES["eager_foreach"]()
    at = next(seq for seq, entry in enumerate(story.entries) if entry.data.get("task") == "fix")
    story.entries[at] = replace(story.entries[at], bodies={"items": Body(content)})

    assert story.entries[at].kind == "task.expanded"
    assert verify(find_ledger(str(story.write(tmp_path / "run")))).codes == expected
