"""Results as one self-contained page."""

from collections.abc import Iterator, Sequence
from html import escape

from forum_conformance.results.document import SuiteRun
from forum_conformance.results.page_parts import SCRIPT, STYLE
from forum_conformance.results.printable import printable, printable_lines
from forum_conformance.results.summary import Tally, tallies
from forum_conformance.suite.case import spec_page
from forum_conformance.suite.display import to_json
from forum_conformance.suite.result import Result, State

_CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def results_html(results: Sequence[Result], suite_run: SuiteRun, objections: Sequence[str], *, total: int) -> str:
    """`objections` are the reasons for not passing; `total` is the number of selected vectors."""
    return "\n".join(_page(results, suite_run, objections, total)) + "\n"


def _page(results: Sequence[Result], suite_run: SuiteRun, objections: Sequence[str], total: int) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_SECURITY_POLICY}">'
    yield f"<title>Conformance of {_text(suite_run.entrypoint)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
    yield f"<h1>Conformance of <code>{_text(suite_run.entrypoint)}</code></h1>"
    yield f"<p>{_text(' '.join(_heading(results, objections, total)))}</p>"
    suite = suite_run.suite
    yield f"<p>Run at {_text(suite.at)} with forum-conformance {_text(suite.version)} and the vectors whose"
    yield f"MANIFEST.json has the SHA-256 <code>{_text(suite.manifest_sha256)}</code>.</p>"
    yield from _table(list(tallies(results, suite_run.levels)))
    yield from _filters(results)
    yield '<div id="results">'
    for result in results:
        yield from _details(result, suite_run)
    yield f"</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>"


def _heading(results: Sequence[Result], objections: Sequence[str], total: int) -> Iterator[str]:
    if len(results) < total:
        yield f"Interrupted: {len(results)} of {total} vectors were run."
    if objections:
        yield f"Not passed: {'; '.join(objections)}."
    elif len(results) == total:
        yield "Passed."


def _table(rows: Sequence[Tally]) -> Iterator[str]:
    yield "<table>\n<thead><tr><th>Role</th>" + "".join(f"<th>{_text(state)}</th>" for state in State)
    yield "</tr></thead>\n<tbody>"
    for tally in rows:
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


def _details(result: Result, suite_run: SuiteRun) -> Iterator[str]:
    case, reply = result.case, result.outcome.reply
    is_open = " open" if result.state.is_bad else ""
    yield f'<details data-state="{result.state}"{is_open}>'
    state = f'<span class="state">{result.state}</span>'
    yield f"<summary>{state} <code>{_text(case.id)}</code> {_text(case.title)}</summary>\n<dl>"
    yield _item("Request", f"{case.role} {to_json(dict(result.outcome.members))}")
    yield _item("Expected", to_json(dict(result.outcome.expected)))
    yield _item("Answer", _answer_text(result))
    if result.reason is not None:
        yield _item("Expected to fail", result.reason)
    for difference in result.outcome.differences if result.state is not State.NOT_OFFERED else ():
        yield _item("Differs", f"{difference.place}\nexpected {difference.expected}\ngot      {difference.actual}")
    yield _item(
        "Required by", "\n".join(f"{requirement}, {spec_page(requirement)}" for requirement in case.requirements)
    )
    if reply and reply.stderr.strip():
        yield _item("Standard error", reply.stderr)
    yield _item("Run again", suite_run.rerun_command(result))
    yield "</dl>\n</details>"


def _answer_text(result: Result) -> str:
    reply = result.outcome.reply
    if reply is None:
        return "not run" if result.outcome.is_abandoned else "not run: the role is not offered"
    if reply.answer is not None:
        return to_json(dict(reply.answer))
    return f"no answer: {reply.problem.actual}" if reply.problem else "no answer"


def _item(name: str, text: str) -> str:
    body = "\n".join(escape(line) for line in printable_lines(text))
    return f"<dt>{escape(name)}</dt><dd><pre>{body}</pre></dd>"


def _text(text: str) -> str:
    return escape(printable(text))
