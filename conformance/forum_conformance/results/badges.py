"""A badge for each role and each level: an endpoint for shields.io, and the image."""

import json
from collections.abc import Sequence
from html import escape

from forum_conformance.results.summary import Tally, tallies
from forum_conformance.suite.result import Result, State

_COLORS = {"brightgreen": "#44cc11", "red": "#e05d44", "yellow": "#dfb317", "lightgrey": "#9f9f9f"}
# In pixels.
_CHAR_WIDTH = 6.6
_PADDING = 10


def badge_files(results: Sequence[Result], levels: frozenset[int] | None) -> dict[str, str]:
    """The files, by name. `levels` are the requested levels of `verify`; None for all."""
    files = {}
    all_tallies = list(tallies(results, levels))
    roles_with_other_failures = {
        tally.role for tally in all_tallies if tally.is_of_other_levels and tally.counts[State.PASSED] < tally.total
    }
    for tally in all_tallies:
        if tally.is_of_other_levels:
            continue
        name = tally.role if tally.level is None else f"{tally.role}-level-{tally.level}"
        has_other_failures = tally.level is None and tally.role in roles_with_other_failures
        label, (message, color) = f"forum {tally.name}", _badge_text(tally, has_other_failures=has_other_failures)
        endpoint = {"schemaVersion": 1, "label": label, "message": message, "color": color}
        files[f"{name}.json"] = json.dumps(endpoint) + "\n"
        files[f"{name}.svg"] = _svg(label, message, _COLORS[color])
    return files


def _badge_text(tally: Tally, *, has_other_failures: bool) -> tuple[str, str]:
    """The message and the color of a badge.

    It is green only if all vectors passed, including those of other levels (`has_other_failures`): an expected failure
    is still a failure.
    """
    passed = tally.counts[State.PASSED]
    if not tally.is_offered:
        return "not offered", "lightgrey"
    if passed == tally.total and not has_other_failures:
        return f"{passed} of {tally.total}", "brightgreen"
    all_expected = passed + tally.counts[State.EXPECTED_FAILURE] == tally.total
    return f"{passed} of {tally.total}", "yellow" if all_expected and not has_other_failures else "red"


def _svg(label: str, message: str, color: str) -> str:
    left, right = (round(len(text) * _CHAR_WIDTH + 2 * _PADDING) for text in (label, message))
    total_width = left + right
    text = 'text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff"'
    title = escape(f"{label}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width}" height="20" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<clipPath id="r"><rect width="{total_width}" height="20" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{color}"/></g>\n'
        f'<text {text} x="{left / 2}" y="14" textLength="{left - 2 * _PADDING}">{escape(label)}</text>\n'
        f'<text {text} x="{left + right / 2}" y="14" textLength="{right - 2 * _PADDING}">{escape(message)}</text>\n'
        "</svg>\n"
    )
