"""What somebody may have meant by a name that is not there."""

from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The one known name that is near enough to be meant."""
    from difflib import get_close_matches  # costs a start-up that only mistakes should pay

    candidates = sorted(known)
    folded = {candidate.casefold().replace("-", "_"): candidate for candidate in reversed(candidates)}
    exact = folded.get(name.casefold().replace("-", "_"))
    if exact is not None:
        return exact
    near = get_close_matches(name, candidates, n=1, cutoff=0.7)
    return near[0] if near else None


def hint_for(name: str, known: Iterable[str], noun: str) -> str | None:
    """`did you mean 'x'?`, or else a list of what there is, if it is short enough to read."""
    names = sorted(known)
    near = suggest(name, names)
    if near is not None:
        return f"did you mean '{near}'?"
    if not names:
        return None
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"{noun}: {listed}"
