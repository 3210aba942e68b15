"""Which vectors are asked."""

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from forum_conformance.suite.case import Case


class NothingSelected(Exception):
    """A role or a filter that no vector has."""


def select(cases: Iterable[Case], roles: Collection[str], filters: Sequence[str]) -> list[Case]:
    """Those of the roles, or of all, that at least one filter takes; ordered by id."""
    if "" in filters:
        raise NothingSelected("a filter is empty; leave --filter out to take all")
    ordered = sorted(cases, key=lambda case: case.id)
    of_roles = [case for case in ordered if not roles or case.role in roles]
    taken = {text: set(taken_by(text, [case.id for case in of_roles])) for text in filters}
    for text, ids in taken.items():
        if not ids:
            raise NothingSelected(_why_nothing(text, ordered, roles))
    missing = sorted(set(roles) - {case.role for case in of_roles})
    if missing:
        raise NothingSelected(f"there is no vector of the role {missing[0]}")
    wanted = set().union(*taken.values())
    return [case for case in of_roles if not filters or case.id in wanted]


def _why_nothing(text: str, cases: Sequence[Case], roles: Collection[str]) -> str:
    others = set(taken_by(text, [case.id for case in cases]))
    if not others:
        return f"the filter '{text}' takes no vector"
    has = sorted({case.role for case in cases if case.id in others})
    return (
        f"the filter '{text}' takes no vector of the role {' or '.join(sorted(roles))}: "
        f"it takes {len(others)} of {', '.join(has)}, which --role leaves out"
    )


def taken_by(text: str, ids: Collection[str]) -> list[str]:
    """A whole id takes that vector alone; a text with `*`, `?` or `[` is a pattern; any other is a part of the id."""
    if text in ids:
        return [text]
    if any(char in text for char in "*?["):
        return [id_ for id_ in ids if fnmatchcase(id_, text)]
    return [id_ for id_ in ids if text in id_]
