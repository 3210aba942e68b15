"""Level 2 around a line with a level 1 finding: such a line is hashed, and nothing else is checked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fake_ledger.files import OTHER_RUN, Entry, canonical, directory_of
from fake_ledger.run_builder import OPENED
from vector_generator.ledgers.case import Base, Case, Found, in_run
from vector_generator.ledgers.edits import Edit, drop, insert, members

LATE = "2026-11-15T10:00:00.000000Z"
EARLY = "2026-11-15T08:59:59.000000Z"


@dataclass(frozen=True, slots=True)
class Untidy:
    """A valid ledger, one edit of its entries, and a tab before the line of entry `noncanonical`."""

    name: str
    base: str
    rule: str
    title: str
    noncanonical: int
    edit: Edit
    further: Found = ()
    """The findings in addition to L104 for the tab."""


UNTIDY = (
    Untidy("noncanonical-first-line-of-another-run", "notes", "ENTRY-003",
           "runs are compared with that of the first line without a level 1 finding", 0,
           members(0, run=OTHER_RUN)),
    Untidy("another-run-after-a-noncanonical-first-line", "notes", "ENTRY-003",
           "an entry belongs to another run than the first line without a level 1 finding", 0,
           members(2, run=OTHER_RUN), (("L203", 2),)),
    Untidy("noncanonical-line-of-another-run", "notes", "ENTRY-003",
           "the run of a line with a level 1 finding is ignored", 1, members(1, run=OTHER_RUN)),
    Untidy("noncanonical-line-with-another-seq", "notes", "ENTRY-003",
           "the seq of a line with a level 1 finding is ignored", 1, members(1, seq=7)),
    Untidy("noncanonical-line-with-a-later-cause", "notes", "ENTRY-003",
           "the causes of a line with a level 1 finding are ignored", 1, members(1, causes=[2])),
    Untidy("noncanonical-line-with-a-later-time", "notes", "ENTRY-003",
           "times are compared with that of the nearest previous line without a level 1 finding", 1,
           members(1, at=LATE)),
    Untidy("noncanonical-line-with-an-earlier-time", "notes", "ENTRY-003",
           "the time of a line with a level 1 finding is ignored", 1, members(1, at=EARLY)),
    Untidy("earlier-time-after-a-noncanonical-line", "notes", "ENTRY-003",
           "an entry is earlier than the nearest previous line without a level 1 finding", 1,
           members(2, at=EARLY), (("L205", 2),)),
    Untidy("noncanonical-first-line-with-a-later-time", "notes", "ENTRY-003",
           "the time of a first line with a level 1 finding is ignored", 0, members(0, at=LATE)),
    Untidy("noncanonical-first-line-of-another-kind", "notes", "CHAIN-002",
           "the kind of a first line with a level 1 finding is ignored", 0, drop(0)),
    Untidy("opened-after-a-noncanonical-first-line", "notes", "CHAIN-002",
           "the second line is run.opened, and the first has a level 1 finding", 0,
           insert(1, "run.opened", OPENED), (("L206", 1),)),
    Untidy("noncanonical-second-run-opened", "notes", "CHAIN-002",
           "the kind of a later line with a level 1 finding is ignored", 2,
           insert(2, "run.opened", OPENED)),
    Untidy("wave-after-a-noncanonical-seal", "note-after-the-seal", "CHAIN-003",
           "a seal with a level 1 finding does not end the run", 1, insert(2, "wave.opened", {"wave": 0})),
    Untidy("noncanonical-line-after-the-seal", "note-after-the-seal", "CHAIN-003",
           "the kind of a line after the seal with a level 1 finding is ignored", 2,
           insert(2, "wave.opened", {"wave": 0})),
    Untidy("wave-after-the-seal-and-a-noncanonical-line", "note-after-the-seal", "CHAIN-003",
           "a line with a level 1 finding is between the seal and an entry that may not follow it", 2,
           insert(3, "wave.opened", {"wave": 0}), (("L207", 3),)),
)  # fmt: skip


def _tabbed(entry: Entry) -> bytes:
    return b"\t" + canonical(entry)


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    for row in UNTIDY:
        base = bases[row.base]
        yield Case(
            name=row.name,
            title=row.title,
            requirements=(f"LEDGER-{row.rule}", "LEDGER-LINE-005"),
            level=2,
            files=in_run(directory_of(row.edit.make(base.record), {row.noncanonical: _tabbed})),
            found=(("L104", row.noncanonical), *row.further),
            not_checked=base.not_checked,
            derived_from=f"ledger/{base.name}",
            mutation=f"{row.edit.words(base.record)}; after the edit, a tab precedes the line of entry"
            f" {row.noncanonical}; the chain is recomputed over the lines as found",
        )
