"""Suggestions for unknown names."""

from collections.abc import Collection, Iterable

_MAX_CANDIDATES = 200
_MAX_KNOWN_NAMES = 2_000
_MAX_LISTED_NAMES = 8


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The most similar known name, or None if no name is similar enough."""
    from difflib import get_close_matches  # slow to import, and only needed for errors

    candidates = sorted(known)
    if len(candidates) > _MAX_CANDIDATES:
        # Comparing thousands of unknown names with thousands of known names would take minutes.
        candidates = [candidate for candidate in candidates if _is_similar(name, candidate)][:_MAX_CANDIDATES]
    by_folded_name = {candidate.casefold().replace("-", "_"): candidate for candidate in reversed(candidates)}
    exact = by_folded_name.get(name.casefold().replace("-", "_"))
    if exact is not None:
        return exact
    similar = get_close_matches(name, candidates, n=1, cutoff=0.7)
    return similar[0] if similar else None


def _is_similar(name: str, other: str) -> bool:
    return name[:1] == other[:1] and name[-1:] == other[-1:] and abs(len(name) - len(other)) <= 1


def hint_for(name: str, known: Collection[str], noun: str, excluded: str | None = None) -> str | None:
    """A hint for an unknown name: `did you mean 'x'?`, or else the known names except `excluded`, after `noun`.

    None if there are no other names, or far too many.
    """
    if len(known) > _MAX_KNOWN_NAMES:
        return None
    names = sorted(other for other in known if other != excluded)
    similar = suggest(name, names)
    if similar is not None:
        return f"did you mean '{similar}'?"
    if not names:
        return None
    listed = ", ".join(names[:_MAX_LISTED_NAMES]) + (", ..." if len(names) > _MAX_LISTED_NAMES else "")
    return f"{noun}: {listed}"
