"""Single changes to the entries of a ledger."""

from typing import Any

from fake_ledger.files import Record
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import task, wave_plan
from vector_generator.ledgers.edits import cut, drop, facts, insert, move, plan, repeat


def record_of_three() -> Record:
    """Entries 2 and 3 have entry 1 as a cause."""
    builder = RunBuilder()
    first = builder.add("x-first", {"n": 1})
    builder.add("x-second", {"n": 2}, [first])
    builder.add("x-third", {"n": 3}, [0, first])
    return builder.record()


def summary(record: Record) -> list[tuple[int, str, list[int]]]:
    return [(entry["seq"], entry["kind"], entry["causes"]) for entry in record.entries]


def test_an_inserted_entry_shifts_later_entries_and_their_causes() -> None:
    edit = insert(2, "x-more", {}, [1])

    assert summary(edit.apply(record_of_three())) == [
        (0, "run.opened", []),
        (1, "x-first", []),
        (2, "x-more", [1]),
        (3, "x-second", [1]),
        (4, "x-third", [0, 1]),
    ]
    assert edit.describe(record_of_three()) == "a new `x-more` is inserted before entry 2 (`x-second`)"


def test_a_dropped_entry_is_removed_from_causes() -> None:
    assert summary(drop(1).apply(record_of_three())) == [
        (0, "run.opened", []),
        (1, "x-second", []),
        (2, "x-third", [0]),
    ]


def test_an_entry_moved_forward_loses_causes_that_follow_it() -> None:
    moved = move(3, 1).apply(record_of_three())

    assert summary(moved) == [
        (0, "run.opened", []),
        (1, "x-third", [0]),
        (2, "x-first", []),
        (3, "x-second", [2]),
    ]
    assert moved.entries[1]["at"] == moved.entries[0]["at"]


def test_a_repeated_entry_may_have_other_facts() -> None:
    twice = repeat(1, 3, n=7).apply(record_of_three())

    assert [entry["data"].get("n") for entry in twice.entries] == [None, 1, 2, 7, 3]


def test_a_fact_is_set_or_removed() -> None:
    assert facts(2, n=None, m=4).apply(record_of_three()).entries[2]["data"] == {"m": 4}


def test_a_cut_ledger_has_only_the_first_entries() -> None:
    assert summary(cut(2).apply(record_of_three())) == [(0, "run.opened", []), (1, "x-first", [])]


def test_a_changed_wave_plan_has_its_own_digest() -> None:
    builder = RunBuilder(wave_plan({"a": task()}))

    def allow_one(document: dict[str, Any]) -> None:
        document["policy"]["max_parallel"] = 1

    changed = plan("one call may be open", allow_one).apply(builder.record())

    opened = changed.entries[0]
    expected = wave_plan({"a": task()}, max_parallel=1)
    assert opened["data"]["wave_plan"] == expected["digest"] != builder.entries[0]["data"]["wave_plan"]
    assert opened["bodies"]["wave_plan"]["digest"] in changed.bodies
