"""Results as one self-contained page."""

from collections.abc import Iterator, Sequence
from html import escape

from forum_conformance.results.document import Occasion
from forum_conformance.results.page_parts import SCRIPT, STYLE
from forum_conformance.results.printable import printable, printable_lines
from forum_conformance.results.summary import Tally, tallies
from forum_conformance.suite.case import page_of
from forum_conformance.suite.display import to_json
from forum_conformance.suite.result import Result, State

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def html_of(results: Sequence[Result], occasion: Occasion, found: Sequence[str], *, total: int) -> str:
    """`found` are the reasons for not passing; `total` is the number of selected vectors."""
    return "\n".join(_page(results, occasion, found, total)) + "\n"


def _page(results: Sequence[Result], occasion: Occasion, found: Sequence[str], total: int) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>Conformance of {_text(occasion.entrypoint)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
    yield f"<h1>Conformance of <code>{_text(occasion.entrypoint)}</code></h1>"
    yield f"<p>{_text(' '.join(_heading(results, found, total)))}</p>"
    edition = occasion.edition
    yield f"<p>Asked at {_text(edition.at)} by forum-conformance {_text(edition.version)}, with the vectors whose"
    yield f"MANIFEST.json has the SHA-256 <code>{_text(edition.manifest_sha256)}</code>.</p>"
    yield from _table(list(tallies(results, occasion.levels)))
    yield from _filters(results)
    yield '<div id="results">'
    for result in results:
        yield from _details(result, occasion)
    yield f"</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>"


def _heading(results: Sequence[Result], found: Sequence[str], total: int) -> Iterator[str]:
    if len(results) < total:
        yield f"Interrupted: {len(results)} of {total} vectors were asked."
    if found:
        yield f"Not passed: {'; '.join(found)}."
    elif len(results) == total:
        yield "Passed."


def _table(counted: Sequence[Tally]) -> Iterator[str]:
    yield "<table>\n<thead><tr><th>Role</th>" + "".join(f"<th>{_text(state)}</th>" for state in State)
    yield "</tr></thead>\n<tbody>"
    for tally in counted:
        indent = ' class="level"' if tally.level or tally.is_of_other_levels else ""
        cells = "".join(f"<td>{tally.counts[state]}</td>" for state in State)
        yield f"<tr><th{indent}>{_text(tally.name)}</th>{cells}</tr>"
    yield "</tbody>\n</table>"


def _filters(results: Sequence[Result]) -> Iterator[str]:
    yield '<p id="filters">'
    yield f'<button type="button" data-state="" aria-pressed="true">all {len(results)}</button>'
    for state in State:
        if count := sum(result.state is state for result in results):
            yield f'<button type="button" data-state="{state}" aria-pressed="false">{state} {count}</button>'
    yield "</p>"
    yield '<p><input id="search" type="search" placeholder="part of an id or a title" aria-label="Search"></p>'


def _details(result: Result, occasion: Occasion) -> Iterator[str]:
    case, reply = result.case, result.tried.reply
    is_open = " open" if result.state.is_bad else ""
    yield f'<details data-state="{result.state}"{is_open}>'
    state = f'<span class="state">{result.state}</span>'
    yield f"<summary>{state} <code>{_text(case.id)}</code> {_text(case.title)}</summary>\n<dl>"
    yield _item("Asked", f"{case.role} {to_json(dict(result.tried.members))}")
    yield _item("Expected", to_json(dict(result.tried.expected)))
    yield _item("Came", _came(result))
    if result.reason is not None:
        yield _item("Expected to fail", result.reason)
    for difference in result.tried.differences if result.state is not State.NOT_OFFERED else ():
        yield _item("Differs", f"{difference.place}\nexpected {difference.expected}\ncame     {difference.came}")
    yield _item("Required by", "\n".join(f"{each}, {page_of(each)}" for each in case.requirements))
    if reply and reply.stderr.strip():
        yield _item("Standard error", reply.stderr)
    yield _item("Ask again", occasion.again(result))
    yield "</dl>\n</details>"


def _came(result: Result) -> str:
    reply = result.tried.reply
    if reply is None:
        return "not asked" if result.tried.is_abandoned else "not asked: the role is not offered"
    if reply.answer is not None:
        return to_json(dict(reply.answer))
    return f"no answer: {reply.problem.came}" if reply.problem else "no answer"


def _item(name: str, text: str) -> str:
    body = "\n".join(escape(line) for line in printable_lines(text))
    return f"<dt>{escape(name)}</dt><dd><pre>{body}</pre></dd>"


def _text(text: str) -> str:
    return escape(printable(text))
