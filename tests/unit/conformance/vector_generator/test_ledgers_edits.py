"""Single changes to what a ledger tells."""

from typing import Any

from fake_ledger.files import Record
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import task, wave_plan
from vector_generator.ledgers.edits import again, cut, drop, facts, insert, move, plan


def a_story() -> Record:
    """Entries 2 and 3 follow from 1."""
    builder = RunBuilder()
    first = builder.add("x-first", {"n": 1})
    builder.add("x-second", {"n": 2}, [first])
    builder.add("x-third", {"n": 3}, [0, first])
    return builder.record()


def told(record: Record) -> list[tuple[int, str, list[int]]]:
    return [(entry["seq"], entry["kind"], entry["causes"]) for entry in record.entries]


def test_an_entry_that_is_put_in_moves_what_follows_and_its_causes() -> None:
    edit = insert(2, "x-more", {}, [1])

    assert told(edit.make(a_story())) == [
        (0, "run.opened", []),
        (1, "x-first", []),
        (2, "x-more", [1]),
        (3, "x-second", [1]),
        (4, "x-third", [0, 1]),
    ]
    assert edit.words(a_story()) == "a further `x-more` stands before entry 2 (`x-second`)"


def test_an_entry_that_is_gone_is_the_cause_of_nothing() -> None:
    assert told(drop(1).make(a_story())) == [(0, "run.opened", []), (1, "x-second", []), (2, "x-third", [0])]


def test_an_entry_that_moves_forward_loses_causes_that_are_then_later() -> None:
    moved = move(3, 1).make(a_story())

    assert told(moved) == [
        (0, "run.opened", []),
        (1, "x-third", [0]),
        (2, "x-first", []),
        (3, "x-second", [2]),
    ]
    assert moved.entries[1]["at"] == moved.entries[0]["at"]


def test_an_entry_that_stands_twice_may_tell_something_else_the_second_time() -> None:
    twice = again(1, 3, n=7).make(a_story())

    assert [entry["data"].get("n") for entry in twice.entries] == [None, 1, 2, 7, 3]


def test_a_fact_is_set_or_taken_away() -> None:
    assert facts(2, n=None, m=4).make(a_story()).entries[2]["data"] == {"m": 4}


def test_what_was_never_written_is_not_there() -> None:
    assert told(cut(2).make(a_story())) == [(0, "run.opened", []), (1, "x-first", [])]


def test_another_wave_plan_is_named_by_its_own_digest() -> None:
    builder = RunBuilder(wave_plan({"a": task()}))

    def allow_one(found: dict[str, Any]) -> None:
        found["policy"]["max_parallel"] = 1

    changed = plan("one call may be open", allow_one).make(builder.record())

    opened = changed.entries[0]
    expected = wave_plan({"a": task()}, max_parallel=1)
    assert opened["data"]["wave_plan"] == expected["digest"] != builder.entries[0]["data"]["wave_plan"]
    assert opened["bodies"]["wave_plan"]["digest"] in changed.bodies
