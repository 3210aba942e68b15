"""A row of a table of mutations: a valid ledger, one change, and the expected finding."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fake_ledger.files import directory_of
from vector_generator.ledgers.case import Base, Case, Findings, run_files
from vector_generator.ledgers.edits import Edit

RECOMPUTED = "; chain, seal and everything else that follows from the entries are recomputed"


@dataclass(frozen=True, slots=True)
class Row:
    """`rules` are the last parts of the requirements: `002` is LEDGER-SEMANTICS-002, `KIND-003` is LEDGER-KIND-003."""

    name: str
    base: str
    rules: str
    code: str
    seq: int | None
    title: str
    edit: Edit
    other_findings: Findings = ()
    """Other findings of the same level."""

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(f"LEDGER-{rule if '-' in rule else 'SEMANTICS-' + rule}" for rule in self.rules.split())


def cases_of(rows: Iterable[Row], bases: Mapping[str, Base]) -> Iterator[Case]:
    for row in rows:
        base = bases[row.base]
        yield Case(
            name=row.name,
            title=row.title,
            requirements=row.requirements,
            level=int(row.code[1]),
            files=run_files({**base.other_files, **directory_of(row.edit.apply(base.record))}),
            findings=((row.code, row.seq), *row.other_findings),
            not_checked=base.not_checked,
            derived_from=f"ledger/{base.name}",
            mutation=row.edit.describe(base.record) + RECOMPUTED,
        )
