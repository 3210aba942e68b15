"""Which entries a selection matches."""

import pytest

from forum_runner.errors import UsageError
from forum_runner.ledger.entries import KINDS
from forum_runner.ledger.read_entry import ReadEntry, read_entry
from forum_runner.ledger.selection import Selection, SeqSpan, check_kinds
from ledgers import EXAMPLES


def entries(name: str) -> list[ReadEntry]:
    found = [read_entry(line) for line in EXAMPLES[name]().lines()]
    return [entry for entry in found if entry is not None]


def selected(name: str, selection: Selection) -> list[str]:
    return [f"{entry.kind} {entry.task or '-'}" for entry in entries(name) if selection.matches(entry)]


def test_an_empty_selection_selects_everything() -> None:
    assert Selection().matches_all
    assert len(selected("two_waves", Selection())) == len(entries("two_waves"))


def test_kinds_are_globs_and_one_match_is_enough() -> None:
    selection = Selection(kinds=("gate.*", "run.paused"))

    assert selected("gate_refused", selection) == [
        "gate.opened publish",
        "gate.opened announce",
        "gate.decided publish",
        "gate.decided announce",
    ]


def test_a_task_selects_its_instances_and_no_task_with_the_same_prefix() -> None:
    entries_of_fix = selected("eager_foreach", Selection(tasks=("fix",), kinds=("task.ended",)))

    assert entries_of_fix == ["task.ended fix[2]", "task.ended fix[1]", "task.ended fix[0]", "task.ended fix"]
    assert selected("eager_foreach", Selection(tasks=("fi",))) == []


def test_an_instance_can_be_selected_like_a_task() -> None:
    assert selected("eager_foreach", Selection(tasks=("fix[2]",), kinds=("task.ended",))) == ["task.ended fix[2]"]


def test_an_actor_is_a_name_or_a_glob() -> None:
    assert selected("gate_refused", Selection(actors=("person:ada",))) == ["gate.decided publish"]
    assert selected("gate_refused", Selection(actors=("person:*",))) == ["gate.decided publish"]
    assert selected("gate_refused", Selection(actors=("person:bob",))) == []


@pytest.mark.parametrize(
    ("written", "span"), [("3", SeqSpan(3, 3)), ("3..9", SeqSpan(3, 9)), ("3..", SeqSpan(3)), ("..9", SeqSpan(0, 9))]
)
def test_a_range_is_written_with_two_dots(written: str, span: SeqSpan) -> None:
    assert SeqSpan.parse(written) == span


def test_a_range_includes_both_ends() -> None:
    selection = Selection(span=SeqSpan.parse("2..4"))

    assert [entry.seq for entry in entries("two_waves") if selection.matches(entry)] == [2, 3, 4]


@pytest.mark.parametrize("written", ["", "..", "a", "1-2", "-1", "1.2", "1..2..3", "9..3", "1 ", "1" * 40, "\u0661"])
def test_an_invalid_range_is_rejected(written: str) -> None:
    with pytest.raises(UsageError):
        SeqSpan.parse(written)


def test_a_misspelled_kind_is_rejected() -> None:
    check_kinds(("task.*", "x-mine", "*", "[rt]*.opened", "run.seal?d"), KINDS)

    with pytest.raises(UsageError, match=r"^unknown kind 'taks\.\*'; choose from answer.given, "):
        check_kinds(("taks.*",), KINDS)
