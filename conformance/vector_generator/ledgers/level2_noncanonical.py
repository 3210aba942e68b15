"""Level 2 near a line with a level 1 finding: such a line is hashed but not checked otherwise."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fake_ledger.files import OTHER_RUN, Entry, canonical, directory_of
from fake_ledger.run_builder import OPENED
from vector_generator.ledgers.case import Base, Case, Findings, run_files
from vector_generator.ledgers.edits import Edit, drop, insert, members

LATE = "2026-11-15T10:00:00.000000Z"
EARLY = "2026-11-15T08:59:59.000000Z"


@dataclass(frozen=True, slots=True)
class NoncanonicalRow:
    """A valid ledger, one edit of its entries, and a tab before the line of entry `noncanonical`."""

    name: str
    base: str
    rule: str
    title: str
    noncanonical: int
    edit: Edit
    other_findings: Findings = ()
    """The findings in addition to L104 for the tab."""


ROWS = (
    NoncanonicalRow("noncanonical-first-line-of-another-run", "notes", "ENTRY-003",
           "runs are compared with the run of the first line without a level 1 finding", 0,
           members(0, run=OTHER_RUN)),
    NoncanonicalRow("another-run-after-a-noncanonical-first-line", "notes", "ENTRY-003",
           "an entry belongs to a different run than the first line without a level 1 finding", 0,
           members(2, run=OTHER_RUN), (("L203", 2),)),
    NoncanonicalRow("noncanonical-line-of-another-run", "notes", "ENTRY-003",
           "the run of a line with a level 1 finding is ignored", 1, members(1, run=OTHER_RUN)),
    NoncanonicalRow("noncanonical-line-with-another-seq", "notes", "ENTRY-003",
           "the seq of a line with a level 1 finding is ignored", 1, members(1, seq=7)),
    NoncanonicalRow("noncanonical-line-with-a-later-cause", "notes", "ENTRY-003",
           "the causes of a line with a level 1 finding are ignored", 1, members(1, causes=[2])),
    NoncanonicalRow("noncanonical-line-with-a-later-time", "notes", "ENTRY-003",
           "times are compared with the time of the nearest previous line without a level 1 finding", 1,
           members(1, at=LATE)),
    NoncanonicalRow("noncanonical-line-with-an-earlier-time", "notes", "ENTRY-003",
           "the time of a line with a level 1 finding is ignored", 1, members(1, at=EARLY)),
    NoncanonicalRow("earlier-time-after-a-noncanonical-line", "notes", "ENTRY-003",
           "an entry is earlier than the nearest previous line without a level 1 finding", 1,
           members(2, at=EARLY), (("L205", 2),)),
    NoncanonicalRow("noncanonical-first-line-with-a-later-time", "notes", "ENTRY-003",
           "the time of a first line with a level 1 finding is ignored", 0, members(0, at=LATE)),
    NoncanonicalRow("noncanonical-first-line-of-another-kind", "notes", "CHAIN-002",
           "the kind of a first line with a level 1 finding is ignored", 0, drop(0)),
    NoncanonicalRow("opened-after-a-noncanonical-first-line", "notes", "CHAIN-002",
           "the second line is run.opened, and the first has a level 1 finding", 0,
           insert(1, "run.opened", OPENED), (("L206", 1),)),
    NoncanonicalRow("noncanonical-second-run-opened", "notes", "CHAIN-002",
           "the kind of a later line with a level 1 finding is ignored", 2,
           insert(2, "run.opened", OPENED)),
    NoncanonicalRow("wave-after-a-noncanonical-seal", "note-after-the-seal", "CHAIN-003",
           "a seal with a level 1 finding does not end the run", 1, insert(2, "wave.opened", {"wave": 0})),
    NoncanonicalRow("noncanonical-line-after-the-seal", "note-after-the-seal", "CHAIN-003",
           "the kind of a line after the seal with a level 1 finding is ignored", 2,
           insert(2, "wave.opened", {"wave": 0})),
    NoncanonicalRow("wave-after-the-seal-and-a-noncanonical-line", "note-after-the-seal", "CHAIN-003",
           "a line with a level 1 finding is between the seal and an entry that may not follow it", 2,
           insert(3, "wave.opened", {"wave": 0}), (("L207", 3),)),
)  # fmt: skip


def _with_tab(entry: Entry) -> bytes:
    return b"\t" + canonical(entry)


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    for row in ROWS:
        base = bases[row.base]
        yield Case(
            name=row.name,
            title=row.title,
            requirements=(f"LEDGER-{row.rule}", "LEDGER-LINE-005"),
            level=2,
            files=run_files(directory_of(row.edit.apply(base.record), {row.noncanonical: _with_tab})),
            findings=(("L104", row.noncanonical), *row.other_findings),
            not_checked=base.not_checked,
            derived_from=f"ledger/{base.name}",
            mutation=f"{row.edit.describe(base.record)}; after the edit, a tab precedes the line of entry"
            f" {row.noncanonical}; the chain is recomputed over the lines as found",
        )
