"""Level 4 checks of `foreach`: items are read once, and the end of a task follows from its instances."""

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
def test_items_are_read_once_for_all_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies_read: list[BodyReference] = []

    def read_and_count(run: CheckedRun, body: BodyReference) -> list[Any] | None:
        bodies_read.append(body)
        return read_items(run, body)

    monkeypatch.setattr("forum_runner.ledger.semantics.begin_rules.read_items", read_and_count)

    assert not verify(ledger_at(LEDGERS["eager_foreach"](tmp_path / "run"))).codes
    expansions = (tmp_path / "run" / "ledger.jsonl").read_text().count('"kind":"task.expanded"')
    assert len(bodies_read) == expansions > 0


@pytest.mark.requirement("LEDGER-SEMANTICS-006")
@pytest.mark.parametrize(("content", "expected"), [(b'[{"n":1},"two",3]', ()), (b'[{"n": 1},"two",3]', ("L419",))])
def test_items_must_be_a_canonical_list_regardless_of_the_body_type(
    content: bytes, expected: tuple[str, ...], tmp_path: Path
) -> None:
    example = EXAMPLES["eager_foreach"]()
    fix_seq = next(seq for seq, entry in enumerate(example.entries) if entry["data"].get("task") == "fix")
    items = Body(content)
    example.bodies[items.digest] = items
    example.entries[fix_seq]["bodies"] = {"items": items.reference}

    assert example.entries[fix_seq]["kind"] == "task.expanded"
    assert verify(ledger_at(example.write(tmp_path / "run"))).codes == expected


def run_with_instances(instances: list[str], end: str) -> ExampleRun:
    """A run that ends `fix`, which may fail, after its instances. A state that starts with `-` means no attempt."""
    example = ExampleRun(plan_of("eager_foreach"))
    example.pass_task("find", {"items": [*range(len(instances))], "why": None})
    example.expand("fix")
    for number, state in enumerate(instances):
        unit = f"fix[{number}]"
        if state == "passed":
            example.pass_task(unit, {"patch": number})
            continue
        if not state.startswith("-"):
            example.deliver(unit)
            example.start(unit)
            example.fail(unit, "auth")
        example.end(unit, state.removeprefix("-"), "error")
    example.end("fix", end, None if end == "passed" else "error")
    return example


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(
    ("instances", "allowed"),
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
def test_a_task_must_end_tolerated_if_all_its_instances_are_tolerated(
    instances: list[str], allowed: set[str], end: str, tmp_path: Path
) -> None:
    example = run_with_instances(instances, end)

    codes = verify(ledger_at(example.write(tmp_path / "run"))).codes

    assert codes == (("L501",) if end in allowed else ("L417", "L501"))
