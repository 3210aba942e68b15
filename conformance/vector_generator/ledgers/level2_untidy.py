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
    """A ledger that holds, one change to what it tells, and a tab before the line of the entry `untidy`."""

    name: str
    base: str
    rule: str
    title: str
    untidy: int
    edit: Edit
    further: Found = ()
    """What is found beside the tab (L104)."""


UNTIDY = (
    Untidy("untidy-first-line-of-another-run", "notes", "ENTRY-003",
           "runs are compared with that of the first line that has no finding of level 1", 0,
           members(0, run=OTHER_RUN)),
    Untidy("another-run-after-an-untidy-first-line", "notes", "ENTRY-003",
           "an entry is of another run than the first line that has no finding of level 1", 0,
           members(2, run=OTHER_RUN), (("L203", 2),)),
    Untidy("untidy-line-of-another-run", "notes", "ENTRY-003",
           "of a line with a finding of level 1 the run is not looked at", 1, members(1, run=OTHER_RUN)),
    Untidy("untidy-line-with-another-seq", "notes", "ENTRY-003",
           "of a line with a finding of level 1 the seq is not looked at", 1, members(1, seq=7)),
    Untidy("untidy-line-with-a-later-cause", "notes", "ENTRY-003",
           "of a line with a finding of level 1 the causes are not looked at", 1, members(1, causes=[2])),
    Untidy("untidy-line-with-a-late-time", "notes", "ENTRY-003",
           "times are compared with that of the nearest line before that has no finding of level 1", 1,
           members(1, at=LATE)),
    Untidy("untidy-line-with-an-early-time", "notes", "ENTRY-003",
           "of a line with a finding of level 1 the time is not looked at", 1, members(1, at=EARLY)),
    Untidy("early-time-after-an-untidy-line", "notes", "ENTRY-003",
           "an entry is earlier than the nearest line before that has no finding of level 1", 1,
           members(2, at=EARLY), (("L205", 2),)),
    Untidy("untidy-first-line-with-a-late-time", "notes", "ENTRY-003",
           "no line before has a time that counts", 0, members(0, at=LATE)),
    Untidy("untidy-first-line-of-another-kind", "notes", "CHAIN-002",
           "of a first line with a finding of level 1 the kind is not looked at", 0, drop(0)),
    Untidy("opened-after-an-untidy-first-line", "notes", "CHAIN-002",
           "the second line is run.opened, and the first has a finding of level 1", 0,
           insert(1, "run.opened", OPENED), (("L206", 1),)),
    Untidy("untidy-second-opening", "notes", "CHAIN-002",
           "of a later line with a finding of level 1 the kind is not looked at", 2,
           insert(2, "run.opened", OPENED)),
    Untidy("work-after-an-untidy-seal", "note-after-the-seal", "CHAIN-003",
           "a seal with a finding of level 1 ends nothing", 1, insert(2, "wave.opened", {"wave": 0})),
    Untidy("untidy-work-after-the-seal", "note-after-the-seal", "CHAIN-003",
           "of a line after the seal with a finding of level 1 the kind is not looked at", 2,
           insert(2, "wave.opened", {"wave": 0})),
    Untidy("work-after-the-seal-and-an-untidy-line", "note-after-the-seal", "CHAIN-003",
           "between the seal and what may not follow it stands a line with a finding of level 1", 2,
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
            files=in_run(directory_of(row.edit.make(base.record), {row.untidy: _tabbed})),
            found=(("L104", row.untidy), *row.further),
            not_checked=base.not_checked,
            derived_from=f"ledger/{base.name}",
            mutation=f"{row.edit.words(base.record)}; a tab stands before the line of entry {row.untidy} that comes of"
            " it; the chain is written anew over the lines as found",
        )
