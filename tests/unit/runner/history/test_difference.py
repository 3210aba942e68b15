"""Where two runs diverge."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fake_ledger.files import Body, Entry, lines_of
from forum_runner.history.difference import RunDifference, compare
from forum_runner.ledger.read_entry import ReadEntry, read_entry
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

OTHER_RUN = "01936b2e-4d10-7a3c-9f00-00000000000f"


def entries_of(lines: Sequence[bytes]) -> Callable[[], Iterator[ReadEntry | None]]:
    return lambda: map(read_entry, lines)


def compared(left: Sequence[Entry], right: Sequence[Entry]) -> RunDifference:
    return compare(entries_of(lines_of(left)), entries_of(lines_of([{**entry, "run": OTHER_RUN} for entry in right])))


def divergence_of(difference: RunDifference) -> tuple[str, int, int | None, int | None]:
    divergence = difference.divergence
    assert divergence is not None
    left, right = (entry.seq if entry else None for entry in (divergence.left, divergence.right))
    return divergence.subject, divergence.index, left, right


def later(entries: Sequence[Entry]) -> list[Entry]:
    """Return the same run at a later time with slower calls."""
    moved = []
    for entry in entries:
        data = dict(entry["data"])
        for name in ("usage", "totals"):
            if name in data:
                data[name] = {**data[name], "wall_ms": data[name]["wall_ms"] + 7}
        moved.append({**entry, "at": entry["at"].replace("2026", "2027"), "data": data})
    return moved


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_later_and_slower_run_with_the_same_results_does_not_differ(name: str) -> None:
    entries = EXAMPLES[name]().entries

    difference = compared(entries, later(entries))

    assert difference.divergence is None
    assert difference.is_empty


def draft_run(output: str, *, log_first: bool = True) -> ExampleRun:
    example = ExampleRun(plan_of("two_waves"))
    example.wave()
    first, second = ("log", "lint") if log_first else ("lint", "log")
    example.start(first)
    example.start(second)
    for task in (second, first):
        example.finish(task, {"commits": [{"title": output}]} if task == "log" else "")
        example.end(task)
    return example


def test_the_order_of_parallel_tasks_is_not_a_difference() -> None:
    assert compared(draft_run("a").entries, draft_run("a", log_first=False).entries).is_empty


def test_runs_diverge_at_the_first_entry_of_a_task_that_differs() -> None:
    difference = compared(draft_run("a").entries, draft_run("b", log_first=False).entries)

    assert divergence_of(difference) == ("task log", 1, 6, 4)
    assert difference.has_same_plan
    assert not difference.is_empty


def test_runs_diverge_where_the_shorter_one_ends() -> None:
    complete = EXAMPLES["two_waves"]().entries

    assert divergence_of(compared(complete, complete[:-3])) == ("output log", 0, 20, None)
    assert divergence_of(compared(complete[:-3], complete)) == ("output log", 0, None, 20)


def test_different_plans_are_reported_separately() -> None:
    example = EXAMPLES["no_plan"]()
    first = example.entries[0]
    opened = {**first, "data": {**first["data"], "wave_plan": "a" * 64}}

    difference = compared(example.entries, [opened, *example.entries[1:]])

    assert (difference.divergence, difference.has_same_plan, difference.is_empty) == (None, False, False)


def changed_bodies(example: ExampleRun, change: Callable[[Body], Body], kind: str | None = None) -> list[Entry]:
    """The entries with changed bodies. With a kind, only entries of that kind are changed."""

    def reference(old: dict[str, Any]) -> dict[str, Any]:
        return change(example.bodies[old["digest"]]).reference

    return [
        {**entry, "bodies": {name: reference(body) for name, body in entry["bodies"].items()}}
        if kind in (None, entry["kind"])
        else entry
        for entry in example.entries
    ]


def test_salted_bodies_are_counted_and_not_compared_by_digest() -> None:
    example = EXAMPLES["redacted"]()
    salted = sum("salted" in body for entry in example.entries for body in entry["bodies"].values())

    difference = compared(example.entries, changed_bodies(example, lambda body: replace(body, salt=body.salt[::-1])))

    assert difference.is_empty
    assert difference.salted == 2 * salted


def test_a_salted_body_of_a_different_length_is_a_difference() -> None:
    example = EXAMPLES["redacted"]()
    longer = changed_bodies(example, lambda body: replace(body, content=body.content + b"!"), "edge.delivered")

    assert divergence_of(compared(example.entries, longer))[:2] == ("task use", 0)


def test_runs_with_unreadable_lines_always_differ() -> None:
    lines = EXAMPLES["two_waves"]().lines()

    difference = compare(entries_of([*lines, b"garbage"]), entries_of(lines))

    assert (difference.divergence, difference.left.unreadable, difference.is_empty) == (None, 1, False)
