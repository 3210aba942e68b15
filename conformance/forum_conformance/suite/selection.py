"""Select vectors by role, filter and requirement."""

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from forum_conformance.suite.case import Case

_REQUIREMENT = re.compile(r"[A-Z]+-[A-Z]+-[0-9]{3}")
# The similarity that a suggestion needs. With a lower value, any two ids of the same page are similar.
_MIN_SIMILARITY = 0.85


class NothingSelected(Exception):
    """A role, a filter or a requirement that is empty or that no vector has."""


def select(
    cases: Iterable[Case], roles: Collection[str], filters: Sequence[str], requirements: Sequence[str] = ()
) -> list[Case]:
    """The vectors of the roles that match a filter and a requirement, ordered by id. An empty argument selects all."""
    if "" in filters:
        raise NothingSelected("a filter is empty; omit --filter to select all")
    ordered = sorted(cases, key=lambda case: case.id)
    role_cases = [case for case in ordered if not roles or case.role in roles]
    matches = {text: set(matching_ids(text, [case.id for case in role_cases])) for text in filters}
    for text, ids in matches.items():
        if not ids:
            raise NothingSelected(_no_match_message(text, ordered, roles))
    missing = sorted(set(roles) - {case.role for case in role_cases})
    if missing:
        raise NothingSelected(f"no vector has the role {missing[0]}")
    matching = set().union(*matches.values())
    selected = [case for case in role_cases if not filters or case.id in matching]
    options = [option for option, values in (("--role", roles), ("--filter", filters)) if values]
    return _select_by_requirement(requirements, selected, ordered, options) if requirements else selected


def _no_match_message(text: str, cases: Sequence[Case], roles: Collection[str]) -> str:
    """`cases` are all vectors, including those that `roles` excludes."""
    ids = set(matching_ids(text, [case.id for case in cases]))
    if not ids:
        return f"the filter '{text}' matches no vector"
    return (
        f"the filter '{text}' matches no vector with role {' or '.join(sorted(roles))}; "
        f"it matches {_vectors_with_roles([case for case in cases if case.id in ids])}, which --role excludes"
    )


def _vectors_with_roles(cases: Sequence[Case]) -> str:
    roles = sorted({case.role for case in cases})
    return f"{len(cases)} vector{'s' * (len(cases) != 1)} with role {' or '.join(roles)}"


def matching_ids(text: str, ids: Collection[str]) -> list[str]:
    """A full id selects that vector; a text with `*`, `?` or `[` is a pattern; any other is a part of the id."""
    if text in ids:
        return [text]
    if any(char in text for char in "*?["):
        return [id_ for id_ in ids if fnmatchcase(id_, text)]
    return [id_ for id_ in ids if text in id_]


def _select_by_requirement(
    texts: Sequence[str], selected: Sequence[Case], all_cases: Sequence[Case], options: Sequence[str]
) -> list[Case]:
    """The vectors of `selected` that name a requirement, given by its full id or by a pattern.

    `options` are the options that reduced `all_cases` to `selected`.
    """
    known_ids = {id_ for case in all_cases for id_ in case.requirements}
    matching: set[str] = set()
    for text in texts:
        ids = {id_ for id_ in known_ids if fnmatchcase(id_, text)}
        if not ids:
            raise NothingSelected(_unknown_requirement_message(text, known_ids))
        if not any(ids.intersection(case.requirements) for case in selected):
            excluded = [case for case in all_cases if ids.intersection(case.requirements)]
            raise NothingSelected(
                f"the requirement '{text}' matches none of the vectors that {' and '.join(options)} selected; "
                f"it matches {_vectors_with_roles(excluded)}"
            )
        matching |= ids
    return [case for case in selected if matching.intersection(case.requirements)]


def _unknown_requirement_message(text: str, known_ids: Collection[str]) -> str:
    if not text:
        return "a requirement is empty; omit --requirement to select all"
    patterns = {f"{id_.rpartition('-')[0]}-*" for id_ in known_ids}
    suggestions = get_close_matches(text.upper(), sorted({*known_ids, *patterns}), n=1, cutoff=_MIN_SIMILARITY)
    message = f"no vector names the requirement '{text}'" + (
        f"; did you mean '{suggestions[0]}'?" if suggestions else ""
    )
    if not _REQUIREMENT.fullmatch(text):
        return message
    # Only the specification knows whether the requirement exists.
    return f"{message}\ndocs/spec/vectors.md lists the requirements without vectors, with reasons"
