"""Results as JUnit XML, in the form that CI services read."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from xml.etree import ElementTree

from forum_conformance.results.document import SuiteRun
from forum_conformance.results.printable import printable, printable_lines
from forum_conformance.results.text import failure_lines
from forum_conformance.suite.result import Result, State

_NAME = "forum-conformance"


def results_junit(results: Sequence[Result], suite_run: SuiteRun) -> bytes:
    """A test suite for each area. Vectors of roles that are not offered, and expected failures, count as skipped."""
    top = ElementTree.Element("testsuites", {"name": _NAME, **_counts(results)})
    for area, group in groupby(results, key=lambda result: result.case.area):
        area_results = list(group)
        suite = ElementTree.SubElement(top, "testsuite", {"name": area, **_counts(area_results)})
        for result in area_results:
            _add_case(suite, result, suite_run)
    ElementTree.indent(top)
    document: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _counts(results: Sequence[Result]) -> dict[str, str]:
    skipped = (State.NOT_OFFERED, State.EXPECTED_FAILURE)
    return {
        "tests": str(len(results)),
        "failures": str(sum(result.state.is_bad for result in results)),
        "errors": "0",
        "skipped": str(sum(result.state in skipped for result in results)),
        "time": _seconds(results),
    }


def _seconds(results: Iterable[Result]) -> str:
    spent_ms = sum(result.outcome.reply.duration_ms for result in results if result.outcome.reply)
    return f"{spent_ms / 1000:.3f}"


def _add_case(suite: ElementTree.Element, result: Result, suite_run: SuiteRun) -> None:
    area, _, name = result.case.id.partition("/")
    attributes = {"classname": f"forum.{area}", "name": name, "time": _seconds([result])}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if result.state.is_bad:
        first = result.outcome.differences[:1]
        message = f"{result.state}: " + (f"{first[0].place} is not as expected" if first else str(result.reason))
        failure = ElementTree.SubElement(case, "failure", {"message": printable(message), "type": result.state.value})
        failure.text = "\n".join(failure_lines(result, suite_run))
    elif result.state is State.EXPECTED_FAILURE:
        ElementTree.SubElement(case, "skipped", {"message": printable(f"expected failure: {result.reason}")})
    elif result.state is State.NOT_OFFERED:
        ElementTree.SubElement(case, "skipped", {"message": f"the role {result.case.role} is not offered"})
    if lines := printable_lines(result.outcome.reply.stderr if result.outcome.reply else ""):
        ElementTree.SubElement(case, "system-err").text = "\n".join(lines)
