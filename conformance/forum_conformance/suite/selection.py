"""Select vectors by role, filter and requirement."""

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from forum_conformance.suite.case import Case

_REQUIREMENT = re.compile(r"[A-Z]+-[A-Z]+-[0-9]{3}")
# The similarity for a suggestion. With less, every id resembles another of its page.
_MIN_SIMILARITY = 0.85


class NothingSelected(Exception):
    """A role, a filter or a requirement that no vector has."""


def select(
    cases: Iterable[Case], roles: Collection[str], filters: Sequence[str], requirements: Sequence[str] = ()
) -> list[Case]:
    """The vectors of the roles (or all) that match a filter and a requirement; ordered by id."""
    if "" in filters:
        raise NothingSelected("a filter is empty; omit --filter to select all")
    ordered = sorted(cases, key=lambda case: case.id)
    of_roles = [case for case in ordered if not roles or case.role in roles]
    taken = {text: set(matching_ids(text, [case.id for case in of_roles])) for text in filters}
    for text, ids in taken.items():
        if not ids:
            raise NothingSelected(_no_match_message(text, ordered, roles))
    missing = sorted(set(roles) - {case.role for case in of_roles})
    if missing:
        raise NothingSelected(f"no vector has the role {missing[0]}")
    wanted = set().union(*taken.values())
    left = [case for case in of_roles if not filters or case.id in wanted]
    options = [name for name, given in (("--role", roles), ("--filter", filters)) if given]
    return _select_by_requirement(requirements, left, ordered, options) if requirements else left


def _no_match_message(text: str, cases: Sequence[Case], roles: Collection[str]) -> str:
    others = set(matching_ids(text, [case.id for case in cases]))
    if not others:
        return f"the filter '{text}' matches no vector"
    has = sorted({case.role for case in cases if case.id in others})
    return (
        f"the filter '{text}' matches no vector of the role {' or '.join(sorted(roles))}: "
        f"it matches {len(others)} of the role {' or '.join(has)}, which --role excludes"
    )


def matching_ids(text: str, ids: Collection[str]) -> list[str]:
    """A full id selects that vector; a text with `*`, `?` or `[` is a pattern; any other is a part of the id."""
    if text in ids:
        return [text]
    if any(char in text for char in "*?["):
        return [id_ for id_ in ids if fnmatchcase(id_, text)]
    return [id_ for id_ in ids if text in id_]


def _select_by_requirement(
    texts: Sequence[str], left: Sequence[Case], every: Sequence[Case], options: Sequence[str]
) -> list[Case]:
    """The vectors of `left` that name a requirement, given by its full id or by a pattern.

    `options` are the options that excluded vectors of `every`.
    """
    known = {id_ for case in every for id_ in case.requirements}
    wanted: set[str] = set()
    for text in texts:
        taken = {id_ for id_ in known if fnmatchcase(id_, text)}
        if not taken:
            raise NothingSelected(_unknown_requirement_message(text, known))
        if not any(taken.intersection(case.requirements) for case in left):
            others = [case for case in every if taken.intersection(case.requirements)]
            has = ", ".join(sorted({case.role for case in others}))
            raise NothingSelected(
                f"the requirement '{text}' matches none of the vectors that {' and '.join(options)} selected: "
                f"it matches {len(others)} of the role {has}"
            )
        wanted |= taken
    return [case for case in left if wanted.intersection(case.requirements)]


def _unknown_requirement_message(text: str, known: Collection[str]) -> str:
    if not text:
        return "a requirement is empty; omit --requirement to select all"
    patterns = {f"{id_.rpartition('-')[0]}-*" for id_ in known}
    suggestions = get_close_matches(text.upper(), sorted({*known, *patterns}), n=1, cutoff=_MIN_SIMILARITY)
    message = f"no vector names the requirement '{text}'" + (
        f"; did you mean '{suggestions[0]}'?" if suggestions else ""
    )
    if not _REQUIREMENT.fullmatch(text):
        return message
    # Only the specification knows whether the requirement exists.
    return f"{message}\ndocs/spec/vectors.md lists the requirements without vectors, with reasons"
