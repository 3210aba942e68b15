"""The selected vectors, as text for people and as JSON lines for programs."""

import json
from collections.abc import Sequence

from forum_conformance.results.document import FORMAT
from forum_conformance.suite.case import Case
from forum_conformance.suite.expectation import expected_answer

_HEADING = ("id", "role", "level", "verdict", "requirements")


def listing_text(cases: Sequence[Case], levels: frozenset[int] | None, *, has_heading: bool) -> str:
    """A table with one line per vector. `levels` are the requested levels of `verify`: the verdict depends on them."""
    rows = [_HEADING] if has_heading else []
    rows += [_row(case, levels) for case in cases]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(_aligned(row, widths) + "\n" for row in rows)


def _row(case: Case, levels: frozenset[int] | None) -> tuple[str, str, str, str, str]:
    verdict = expected_answer(case, levels)["verdict"]
    return case.id, case.role, str(case.level or "-"), verdict, " ".join(case.requirements)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def listing_json(cases: Sequence[Case], levels: frozenset[int] | None) -> str:
    """One document per line. The members have the same names as in a result."""
    documents = (
        {
            "format": FORMAT,
            "id": case.id,
            "title": case.title,
            "role": case.role,
            "level": case.level,
            "requirements": list(case.requirements),
            "expected": expected_answer(case, levels),
        }
        for case in cases
    )
    return "".join(json.dumps(document) + "\n" for document in documents)
