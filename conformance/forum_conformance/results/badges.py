"""A badge for each role and each level: an endpoint for shields.io, and the picture itself."""

import json
from collections.abc import Sequence
from html import escape

from forum_conformance.results.summary import Tally, tallies
from forum_conformance.suite.result import Result, State

_COLOURS = {"brightgreen": "#44cc11", "red": "#e05d44", "yellow": "#dfb317", "lightgrey": "#9f9f9f"}
_CHAR_WIDTH = 6.6
_PADDING = 10


def badges_of(results: Sequence[Result], levels: frozenset[int] | None) -> dict[str, str]:
    """The files, by name. `levels` are those that `verify` was asked for; None for all."""
    files = {}
    for tally in tallies(results, levels):
        name = tally.role if tally.level is None else f"{tally.role}-level-{tally.level}"
        label, (message, colour) = f"forum {tally.name}", _said(tally)
        endpoint = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
        files[f"{name}.json"] = json.dumps(endpoint) + "\n"
        files[f"{name}.svg"] = _svg(label, message, _COLOURS[colour])
    return files


def _said(tally: Tally) -> tuple[str, str]:
    """Only what passes whole is green: an expected failure is a failure that is known."""
    passed = tally.counts[State.PASSED]
    if not tally.is_offered:
        return "not offered", "lightgrey"
    if passed == tally.total:
        return f"{passed} of {tally.total}", "brightgreen"
    is_known = passed + tally.counts[State.EXPECTED_FAILURE] == tally.total
    return f"{passed} of {tally.total}", "yellow" if is_known else "red"


def _svg(label: str, message: str, colour: str) -> str:
    left, right = (round(len(text) * _CHAR_WIDTH + 2 * _PADDING) for text in (label, message))
    whole = left + right
    text = 'text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff"'
    told = escape(f"{label}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{told}">\n'
        f"<title>{told}</title>\n"
        f'<clipPath id="r"><rect width="{whole}" height="20" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>\n'
        f'<text {text} x="{left / 2}" y="14" textLength="{left - 2 * _PADDING}">{escape(label)}</text>\n'
        f'<text {text} x="{left + right / 2}" y="14" textLength="{right - 2 * _PADDING}">{escape(message)}</text>\n'
        "</svg>\n"
    )
