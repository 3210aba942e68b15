"""Broken chains (level 2): single rules with everything else correct, and altered bytes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fake_ledger.files import OTHER_RUN, ZEROS, Entry, Record, canonical, leaf, ledger_of, lines_of
from fake_ledger.run_builder import OPENED
from vector_generator.ledgers.case import Base, Case, Found, in_run
from vector_generator.ledgers.edits import drop, insert, members
from vector_generator.ledgers.row import Row, cases_of

RULES = (
    Row("seq-left-out", "notes", "ENTRY-003", "L202", 2, "a seq is left out", members(2, seq=3)),
    Row("seq-twice", "notes", "ENTRY-003", "L202", 2, "a seq is given twice", members(2, seq=1)),
    Row("entry-of-another-run", "notes", "ENTRY-003", "L203", 2, "an entry is of another run",
        members(2, run=OTHER_RUN)),
    Row("caused-by-itself", "notes", "ENTRY-003", "L204", 2, "an entry names itself among its causes",
        members(2, causes=[0, 2])),
    Row("caused-by-a-later-entry", "notes", "ENTRY-003", "L204", 1, "an entry names a later one among its causes",
        members(1, causes=[2])),
    Row("causes-out-of-order", "notes", "ENTRY-003", "L204", 2, "causes are not ascending", members(2, causes=[1, 0])),
    Row("cause-twice", "notes", "ENTRY-003", "L204", 2, "a cause is given twice", members(2, causes=[1, 1])),
    Row("time-goes-back", "notes", "ENTRY-003", "L205", 2, "an entry is earlier than the one before",
        members(2, at="2026-11-15T09:00:00.999999Z")),
    Row("first-is-not-the-opening", "notes", "CHAIN-002", "L206", 0, "the first entry is not run.opened", drop(0)),
    Row("opened-twice", "notes", "CHAIN-002", "L206", 2, "a run is opened twice",
        insert(2, "run.opened", OPENED)),
    Row("work-after-the-seal", "note-after-the-seal", "CHAIN-003", "L207", 2, "a wave is opened after the seal",
        insert(2, "wave.opened", {"wave": 0})),
    Row("resumed-after-the-seal", "note-after-the-seal", "CHAIN-003", "L207", 3, "a run goes on after its seal",
        insert(3, "run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})),
    Row("opened-after-the-seal", "note-after-the-seal", "CHAIN-002 CHAIN-003", "L206", 2,
        "a run is opened a second time, after its seal", insert(2, "run.opened", OPENED), (("L207", 2),)),
)  # fmt: skip

Touch = Callable[[Record, Sequence[bytes]], Sequence[bytes]]


@dataclass(frozen=True, slots=True)
class Touched:
    """A change to the bytes of `notes`, by somebody who leaves the hashes as they were."""

    name: str
    title: str
    mutation: str
    found: Found
    touch: Touch
    requirements: tuple[str, ...] = ("LEDGER-CHAIN-001",)


def _edited(place: int, **values: object) -> Touch:
    def touch(record: Record, lines: Sequence[bytes]) -> list[bytes]:
        entry = {**record.entries[place], **values}
        prev = leaf(lines[place - 1]).hex() if place else ZEROS
        return [*lines[:place], canonical({"prev": prev, **entry}), *lines[place + 1 :]]

    return touch


def _without(place: int) -> Touch:
    return lambda _, lines: [*lines[:place], *lines[place + 1 :]]


def _spliced(record: Record, lines: Sequence[bytes]) -> list[bytes]:
    """From entry 2 on, those of a run that did the same."""
    foreign = Record(tuple({**entry, "run": OTHER_RUN} for entry in record.entries), record.bodies)
    return [*lines[:2], *lines_of(foreign.entries)[2:]]


def _reserialized(record: Record, _: Sequence[bytes]) -> list[bytes]:
    """Entry 1 has a tab before it; entry 2 names the hash that it would have without."""
    lines = lines_of(record.entries, {1: lambda entry: b"\t" + canonical(entry)})
    tidy = leaf(lines[1].lstrip()).hex()

    def untidy(entry: Entry) -> bytes:
        return canonical({**entry, "prev": tidy})

    return lines_of(record.entries, {1: lambda entry: b"\t" + canonical(entry), 2: untidy})


TOUCHED = (
    Touched("edited-and-not-chained", "an entry was edited, and the next one still names the hash that it had",
            "the actor of entry 1 is another; nothing else is changed", (("L201", 2),),
            _edited(1, actor="person:mallory")),
    Touched("prev-of-another-line", "an entry names the hash of the line before the one before it",
            "`prev` of entry 2 is the hash of entry 0; all later lines are chained anew", (("L201", 2),),
            lambda record,
            lines: lines_of(record.entries, {2: lambda entry: canonical({**entry, "prev": leaf(lines[0]).hex()})})),
    Touched("prev-of-zeros-later", "a later entry has the `prev` of a first one",
            "`prev` of entry 1 is 64 zeros; all later lines are chained anew", (("L201", 1),),
            lambda record, _: lines_of(record.entries, {1: lambda entry: canonical({**entry, "prev": ZEROS})})),
    Touched("first-prev-not-zeros", "the first entry names a line before it",
            "`prev` of entry 0 is not all zeros; all later lines are chained anew", (("L201", 0),),
            lambda record, _: lines_of(
                record.entries, {0: lambda entry: canonical({**entry, "prev": "1" + ZEROS[1:]})})),
    Touched("prev-with-the-line-feed", "a hash was made of the line with its LF",
            "`prev` of entry 2 is the hash of entry 1 with its LF; all later lines are chained anew", (("L201", 2),),
            lambda record, lines: lines_of(
                record.entries, {2: lambda entry: canonical({**entry, "prev": leaf(lines[1] + b"\n").hex()})}),
            ("LEDGER-CHAIN-001", "LEDGER-LINE-006")),
    Touched("hash-of-a-line-made-tidy", "a line was parsed and written again in order to be hashed",
            "a tab stands before the line of entry 1, and entry 2 names the hash of the line without it",
            (("L104", 1), ("L201", 2)), _reserialized, ("LEDGER-LINE-006", "LEDGER-CHAIN-001")),
    Touched("line-dropped", "a line is gone", "the line of entry 1 is gone",
            (("L201", 1), ("L202", 1), ("L204", 1), ("L202", 2)),
            _without(1), ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003", "LEDGER-VERIFY-002")),
    Touched("line-duplicated", "a line stands twice", "the line of entry 1 stands twice",
            (("L201", 2), ("L202", 2), ("L202", 3), ("L202", 4)), lambda _, lines: [*lines[:2], *lines[1:]],
            ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003")),
    Touched("lines-swapped", "two lines have changed places", "the lines of entries 1 and 2 have changed places",
            (("L201", 1), ("L202", 1), ("L204", 1), ("L201", 2), ("L202", 2), ("L205", 2), ("L201", 3)),
            lambda _, lines: [lines[0], lines[2], lines[1], lines[3]], ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003")),
    Touched("tail-of-another-run", "the end is that of another run that did the same",
            "from entry 2 on stand the lines of a run with another id", (("L201", 2), ("L203", 2), ("L203", 3)),
            _spliced, ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003")),
    Touched("garbage-line", "a line that is no JSON stands between two others",
            "the bytes 0x8b 0x1f and LF stand before entry 2",
            (("L102", 2), ("L201", 3), ("L202", 3), ("L202", 4)),
            lambda _, lines: [*lines[:2], b"\x8b\x1f", *lines[2:]], ("LEDGER-LINE-003", "LEDGER-VERIFY-002")),
    Touched("empty-line-at-the-end", "an empty line follows the seal", "LF stands once more at the end",
            (("L102", 4),), lambda _, lines: [*lines, b""], ("LEDGER-LINE-001", "LEDGER-LINE-003")),
    Touched("empty-line-at-the-beginning", "an empty line stands before the first entry",
            "LF stands before the first line",
            (("L102", 0), ("L201", 1), ("L202", 1), ("L206", 1), ("L202", 2), ("L202", 3), ("L202", 4)),
            lambda _, lines: [b"", *lines], ("LEDGER-LINE-001", "LEDGER-LINE-003", "LEDGER-CHAIN-002")),
    Touched("untidy-line-with-another-prev", "of a line with a finding of level 1 `prev` is not looked at",
            "`prev` of entry 1 is 64 zeros, and a tab stands before its line; all later lines are chained anew",
            (("L104", 1),),
            lambda record, _: lines_of(record.entries, {1: lambda entry: b"\t" + canonical({**entry, "prev": ZEROS})}),
            ("LEDGER-CHAIN-001", "LEDGER-LINE-005")),
)  # fmt: skip


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    notes = bases["notes"]
    lines = lines_of(notes.record.entries)
    for touched in TOUCHED:
        ledger = ledger_of(touched.touch(notes.record, lines))
        yield Case(
            name=touched.name,
            title=touched.title,
            requirements=touched.requirements,
            level=2,
            files=in_run({**notes.files(), "ledger.jsonl": ledger}),
            found=touched.found,
            not_checked=notes.not_checked,
            derived_from="ledger/notes",
            mutation=touched.mutation,
        )
    yield from cases_of(RULES, bases)
