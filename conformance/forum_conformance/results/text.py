"""Results as text for people."""

from collections.abc import Iterator, Sequence

from forum_conformance.results.document import SuiteRun
from forum_conformance.results.printable import printable, printable_lines
from forum_conformance.results.summary import Tally, is_of_other_levels, tallies
from forum_conformance.suite.case import spec_page
from forum_conformance.suite.display import to_json
from forum_conformance.suite.result import Result, State

_STDERR_LINES = 20
_LABEL_WIDTH = 12
# How many failures are printed in full, and how many at all.
_MAX_FULL = 20
_MAX_LISTED = 220


def results_text(results: Sequence[Result], suite_run: SuiteRun, objections: Sequence[str], *, total: int) -> str:
    """`objections` are the reasons for not passing; `total` is the number of selected vectors."""
    lines = list(_failures(results, suite_run))
    lines += list(_table(list(tallies(results, suite_run.levels))))
    lines.append(_conclusion(results, suite_run, objections, total))
    return "".join(f"{line}\n" for line in lines)


def _failures(results: Sequence[Result], suite_run: SuiteRun) -> Iterator[str]:
    """Some failures in full, more with one line each: thousands would be unreadable."""
    bad = [result for result in results if result.state.is_bad and not result.outcome.is_abandoned]
    for result in bad[:_MAX_FULL]:
        yield from (*failure_lines(result, suite_run), "")
    for result in bad[_MAX_FULL:_MAX_LISTED]:
        first = result.outcome.differences[:1]
        yield f"{result.state} {result.case.id}" + (f": {printable(first[0].place)}" if first else "")
    if more := len(bad[_MAX_LISTED:]):
        yield f"and {more} more; --jsonl FILE and --html FILE write all of them in full"
    if len(bad) > _MAX_FULL:
        yield ""


def failure_lines(result: Result, suite_run: SuiteRun) -> Iterator[str]:
    """The request, the differences, the answer, the requirements, and the command that runs the vector again."""
    case, reply = result.case, result.outcome.reply
    yield f"{result.state} {case.id}: {printable(case.title)}"
    yield _labeled("request", f"{case.role} {to_json(dict(result.outcome.members))}")
    if result.state is State.UNEXPECTED_PASS:
        yield _labeled("listed", f"as an expected failure: {result.reason}")
    for difference in result.outcome.differences:
        yield _labeled("differs", difference.place)
        yield _labeled("", f"expected {difference.expected}")
        yield _labeled("", f"got      {difference.actual}")
    if reply and reply.answer is not None and result.outcome.differences:
        yield _labeled("answer", to_json(dict(reply.answer)))
    for requirement in case.requirements:
        yield _labeled("required by", f"{requirement}, {spec_page(requirement)}")
    for line in printable_lines(reply.stderr if reply else "")[-_STDERR_LINES:]:
        yield _labeled("stderr", line)
    yield _labeled("run again", suite_run.rerun_command(result))


def _labeled(label: str, text: str) -> str:
    return f"  {label:<{_LABEL_WIDTH}}{printable(text)}"


def _table(rows: Sequence[Tally]) -> Iterator[str]:
    yield f"{'':<20}  passed  failed  unsupported  expected failures"
    for tally in rows:
        is_indented = tally.level or tally.is_of_other_levels
        name = f"  {tally.name.removeprefix('verify ')}" if is_indented else tally.name
        if not tally.is_offered:
            yield f"{name:<20}  not offered"
            continue
        passed, unsupported, expected_failures = (
            tally.counts[state] for state in (State.PASSED, State.UNSUPPORTED, State.EXPECTED_FAILURE)
        )
        yield f"{name:<20}  {passed:>6}  {tally.failed:>6}  {unsupported:>11}  {expected_failures:>17}"


def _conclusion(results: Sequence[Result], suite_run: SuiteRun, objections: Sequence[str], total: int) -> str:
    if len(results) < total:
        return f"interrupted: {len(results)} of {total} vectors were run"
    if objections:
        return "not passed: " + "; ".join(objections)
    counted = [result for result in results if not is_of_other_levels(result, suite_run.levels)]
    passed = sum(result.state is State.PASSED for result in counted)
    others = f", and {len(results) - len(counted)} of other levels" if len(counted) < len(results) else ""
    return f"passed: {passed} of {len(counted)} vectors{_other_counts(counted)}{others}"


def _other_counts(results: Sequence[Result]) -> str:
    labels = ((State.EXPECTED_FAILURE, "failed as expected"), (State.NOT_OFFERED, "of roles that are not offered"))
    counts = ((sum(result.state is state for result in results), words) for state, words in labels)
    return "".join(f", {count} {words}" for count, words in counts if count)
