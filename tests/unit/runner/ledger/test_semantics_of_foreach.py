"""Level 4 and `foreach`: work and memory follow what happened, not what was promised; how it ends."""

from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body
from forum_runner.ledger import ledger_at, verify
from forum_runner.ledger.entry_values import BodyReference, TaskCounts
from forum_runner.ledger.semantics.checked_run import CheckedRun
from forum_runner.ledger.semantics.value_rules import read_items
from ledgers import EXAMPLES, LEDGERS
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of


@pytest.mark.requirement("LEDGER-SEMANTICS-006")
def test_items_are_read_once_however_many_instances_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[BodyReference] = []

    def count(state: CheckedRun, body: BodyReference) -> list[Any] | None:
        read.append(body)
        return read_items(state, body)

    monkeypatch.setattr("forum_runner.ledger.semantics.begin_rules.read_items", count)

    assert not verify(ledger_at(LEDGERS["eager_foreach"](tmp_path / "run"))).codes
    kinds = (tmp_path / "run" / "ledger.jsonl").read_text().count('"kind":"task.expanded"')
    assert len(read) == kinds > 0


@pytest.mark.requirement("LEDGER-SEMANTICS-006")
@pytest.mark.parametrize(("content", "expected"), [(b'[{"n":1},"two",3]', ()), (b'[{"n": 1},"two",3]', ("L419",))])
def test_items_are_a_canonical_list_whatever_type_the_body_has(
    content: bytes, expected: tuple[str, ...], tmp_path: Path
) -> None:
    story = EXAMPLES["eager_foreach"]()
    at = next(seq for seq, entry in enumerate(story.entries) if entry["data"].get("task") == "fix")
    items = Body(content)
    story.bodies[items.digest] = items
    story.entries[at]["bodies"] = {"items": items.reference}

    assert story.entries[at]["kind"] == "task.expanded"
    assert verify(ledger_at(story.write(tmp_path / "run"))).codes == expected


def ended(instances: list[str], end: str) -> ExampleRun:
    """`fix`, which may fail, ends after its instances did; one whose state has a `-` before it made no attempt."""
    story = ExampleRun(plan_of("eager_foreach"))
    story.do("find", {"items": [*range(len(instances))], "why": None})
    story.expand("fix")
    for number, state in enumerate(instances):
        unit = f"fix[{number}]"
        if state == "passed":
            story.do(unit, {"patch": number})
            continue
        if not state.startswith("-"):
            story.deliver(unit)
            story.start(unit)
            story.fail(unit, "auth")
        story.end(unit, state.removeprefix("-"), "error")
    story.end("fix", end, None if end == "passed" else "error")
    return story


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(
    ("instances", "lawful"),
    [
        (["tolerated", "tolerated"], {"tolerated"}),
        (["-tolerated", "-tolerated"], {"tolerated"}),
        (["tolerated", "passed"], {"passed"}),
        (["passed", "passed"], {"passed"}),
        (["tolerated", "stopped"], {"tolerated", "stopped", "refused", "cancelled"}),
        ([], {"passed", "skipped"}),
    ],
)
@pytest.mark.parametrize("end", TaskCounts.__struct_fields__)
def test_a_task_is_tolerated_and_nothing_else_if_there_are_instances_and_all_are(
    instances: list[str], lawful: set[str], end: str, tmp_path: Path
) -> None:
    story = ended(instances, end)

    found = verify(ledger_at(story.write(tmp_path / "run"))).codes

    assert found == (("L501",) if end in lawful else ("L417", "L501"))
