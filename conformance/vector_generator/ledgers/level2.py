"""Broken chains (level 2): single rules with everything else correct, and altered bytes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fake_ledger.files import OTHER_RUN, ZEROS, Entry, Record, canonical, leaf, ledger_of, lines_of
from fake_ledger.run_builder import OPENED
from vector_generator.ledgers.case import Base, Case, Findings, run_files
from vector_generator.ledgers.edits import drop, insert, members
from vector_generator.ledgers.row import Row, cases_of

RULES = (
    Row("seq-skipped", "notes", "ENTRY-003", "L202", 2, "a seq is skipped", members(2, seq=3)),
    Row("seq-repeated", "notes", "ENTRY-003", "L202", 2, "a seq is repeated", members(2, seq=1)),
    Row("entry-of-another-run", "notes", "ENTRY-003", "L203", 2, "an entry belongs to another run",
        members(2, run=OTHER_RUN)),
    Row("caused-by-itself", "notes", "ENTRY-003", "L204", 2, "an entry's causes include itself",
        members(2, causes=[0, 2])),
    Row("caused-by-a-later-entry", "notes", "ENTRY-003", "L204", 1, "an entry's causes include a later entry",
        members(1, causes=[2])),
    Row("causes-out-of-order", "notes", "ENTRY-003", "L204", 2, "causes are not in ascending order", members(2,
        causes=[1, 0])),
    Row("cause-repeated", "notes", "ENTRY-003", "L204", 2, "a repeated cause", members(2, causes=[1, 1])),
    Row("time-decreases", "notes", "ENTRY-003", "L205", 2, "an entry is earlier than the previous one",
        members(2, at="2026-11-15T09:00:00.999999Z")),
    Row("first-entry-not-run-opened", "notes", "CHAIN-002", "L206", 0, "the first entry is not run.opened", drop(0)),
    Row("opened-twice", "notes", "CHAIN-002", "L206", 2, "a run is opened twice",
        insert(2, "run.opened", OPENED)),
    Row("wave-after-the-seal", "note-after-the-seal", "CHAIN-003", "L207", 2, "a wave is opened after the seal",
        insert(2, "wave.opened", {"wave": 0})),
    Row("resumed-after-the-seal", "note-after-the-seal", "CHAIN-003", "L207", 3, "a run is resumed after its seal",
        insert(3, "run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})),
    Row("opened-after-the-seal", "note-after-the-seal", "CHAIN-002 CHAIN-003", "L206", 2,
        "a run is opened again after its seal", insert(2, "run.opened", OPENED), (("L207", 2),)),
)  # fmt: skip

LineChange = Callable[[Record, Sequence[bytes]], Sequence[bytes]]


@dataclass(frozen=True, slots=True)
class ByteEdit:
    """A change to the bytes of `notes` that leaves the hashes unchanged."""

    name: str
    title: str
    mutation: str
    findings: Findings
    change: LineChange
    requirements: tuple[str, ...] = ("LEDGER-CHAIN-001",)


def _edited(seq: int, **values: object) -> LineChange:
    def change(record: Record, lines: Sequence[bytes]) -> list[bytes]:
        entry = {**record.entries[seq], **values}
        prev = leaf(lines[seq - 1]).hex() if seq else ZEROS
        return [*lines[:seq], canonical({"prev": prev, **entry}), *lines[seq + 1 :]]

    return change


def _without(seq: int) -> LineChange:
    return lambda _, lines: [*lines[:seq], *lines[seq + 1 :]]


def _with_foreign_tail(record: Record, lines: Sequence[bytes]) -> list[bytes]:
    """From entry 2 on, the lines of another run of the same plan."""
    foreign = Record(tuple({**entry, "run": OTHER_RUN} for entry in record.entries), record.bodies)
    return [*lines[:2], *lines_of(foreign.entries)[2:]]


def _hashed_without_tab(record: Record, _: Sequence[bytes]) -> list[bytes]:
    """A tab precedes entry 1; the `prev` of entry 2 is the hash of entry 1 without the tab."""
    lines = lines_of(record.entries, {1: lambda entry: b"\t" + canonical(entry)})
    hash_without_tab = leaf(lines[1].lstrip()).hex()

    def with_that_prev(entry: Entry) -> bytes:
        return canonical({**entry, "prev": hash_without_tab})

    return lines_of(record.entries, {1: lambda entry: b"\t" + canonical(entry), 2: with_that_prev})


BYTE_EDITS = (
    ByteEdit("edited-without-rechaining", "an entry was edited, but the next one still has the old hash",
            "the actor of entry 1 is changed; nothing else is changed", (("L201", 2),),
            _edited(1, actor="person:mallory")),
    ByteEdit("prev-of-another-line", "an entry's `prev` is the hash of the line before the previous one",
            "`prev` of entry 2 is the hash of entry 0; all later lines are rechained", (("L201", 2),),
            lambda record,
            lines: lines_of(record.entries, {2: lambda entry: canonical({**entry, "prev": leaf(lines[0]).hex()})})),
    ByteEdit("later-prev-all-zeros", "the `prev` of a later entry is all zeros",
            "`prev` of entry 1 is 64 zeros; all later lines are rechained", (("L201", 1),),
            lambda record, _: lines_of(record.entries, {1: lambda entry: canonical({**entry, "prev": ZEROS})})),
    ByteEdit("first-prev-not-zeros", "the `prev` of the first entry is not all zeros",
            "`prev` of entry 0 is not all zeros; all later lines are rechained", (("L201", 0),),
            lambda record, _: lines_of(
                record.entries, {0: lambda entry: canonical({**entry, "prev": "1" + ZEROS[1:]})})),
    ByteEdit("prev-with-the-line-feed", "a `prev` that covers the line and its LF",
            "`prev` of entry 2 is the hash of entry 1 with its LF; all later lines are rechained", (("L201", 2),),
            lambda record, lines: lines_of(
                record.entries, {2: lambda entry: canonical({**entry, "prev": leaf(lines[1] + b"\n").hex()})}),
            ("LEDGER-CHAIN-001", "LEDGER-LINE-006")),
    ByteEdit("hash-of-a-reserialized-line", "a line was parsed and serialized again before it was hashed",
            "a tab precedes the line of entry 1, and the `prev` of entry 2 is the hash of the line without it",
            (("L104", 1), ("L201", 2)), _hashed_without_tab, ("LEDGER-LINE-006", "LEDGER-CHAIN-001")),
    ByteEdit("line-dropped", "a line is missing", "the line of entry 1 is missing",
            (("L201", 1), ("L202", 1), ("L204", 1), ("L202", 2)),
            _without(1), ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003", "LEDGER-VERIFY-002")),
    ByteEdit("line-duplicated", "a line occurs twice", "the line of entry 1 occurs twice",
            (("L201", 2), ("L202", 2), ("L202", 3), ("L202", 4)), lambda _, lines: [*lines[:2], *lines[1:]],
            ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003")),
    ByteEdit("lines-swapped", "two lines are swapped", "the lines of entries 1 and 2 are swapped",
            (("L201", 1), ("L202", 1), ("L204", 1), ("L201", 2), ("L202", 2), ("L205", 2), ("L201", 3)),
            lambda _, lines: [lines[0], lines[2], lines[1], lines[3]], ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003")),
    ByteEdit("tail-of-another-run", "the last lines come from another run of the same plan",
            "the lines from entry 2 on come from a run with another id", (("L201", 2), ("L203", 2), ("L203", 3)),
            _with_foreign_tail, ("LEDGER-CHAIN-001", "LEDGER-ENTRY-003")),
    ByteEdit("garbage-line", "a line that is not JSON is between two others",
            "the bytes 0x8b 0x1f and LF precede entry 2",
            (("L102", 2), ("L201", 3), ("L202", 3), ("L202", 4)),
            lambda _, lines: [*lines[:2], b"\x8b\x1f", *lines[2:]], ("LEDGER-LINE-003", "LEDGER-VERIFY-002")),
    ByteEdit("empty-line-at-the-end", "an empty line follows the seal", "an extra LF at the end",
            (("L102", 4),), lambda _, lines: [*lines, b""], ("LEDGER-LINE-001", "LEDGER-LINE-003")),
    ByteEdit("empty-line-at-the-beginning", "an empty line precedes the first entry",
            "LF precedes the first line",
            (("L102", 0), ("L201", 1), ("L202", 1), ("L206", 1), ("L202", 2), ("L202", 3), ("L202", 4)),
            lambda _, lines: [b"", *lines], ("LEDGER-LINE-001", "LEDGER-LINE-003", "LEDGER-CHAIN-002")),
    ByteEdit("noncanonical-line-with-another-prev", "the `prev` of a line with a level 1 finding is ignored",
            "`prev` of entry 1 is 64 zeros, and a tab precedes its line; all later lines are rechained",
            (("L104", 1),),
            lambda record, _: lines_of(record.entries, {1: lambda entry: b"\t" + canonical({**entry, "prev": ZEROS})}),
            ("LEDGER-CHAIN-001", "LEDGER-LINE-005")),
)  # fmt: skip


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    notes = bases["notes"]
    lines = lines_of(notes.record.entries)
    for edit in BYTE_EDITS:
        ledger = ledger_of(edit.change(notes.record, lines))
        yield Case(
            name=edit.name,
            title=edit.title,
            requirements=edit.requirements,
            level=2,
            files=run_files({**notes.files(), "ledger.jsonl": ledger}),
            findings=edit.findings,
            not_checked=notes.not_checked,
            derived_from="ledger/notes",
            mutation=edit.mutation,
        )
    yield from cases_of(RULES, bases)
