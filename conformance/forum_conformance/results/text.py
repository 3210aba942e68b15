"""Results as text for people."""

from collections.abc import Iterator, Sequence

from forum_conformance.results.document import Occasion
from forum_conformance.results.printable import printable, printable_lines
from forum_conformance.results.summary import Tally, is_of_other_levels, tallies
from forum_conformance.suite.case import page_of
from forum_conformance.suite.display import to_json
from forum_conformance.suite.result import Result, State

_STDERR_LINES = 20
_ABOUT = 12
_IN_FULL = 20
_TOLD = 220


def text_of(results: Sequence[Result], occasion: Occasion, found: Sequence[str], *, total: int) -> str:
    """`found` are the reasons for not passing; `total` is the number of selected vectors."""
    lines = list(_failures(results, occasion))
    lines += list(_table(list(tallies(results, occasion.levels))))
    lines.append(_conclusion(results, occasion, found, total))
    return "".join(f"{line}\n" for line in lines)


def _failures(results: Sequence[Result], occasion: Occasion) -> Iterator[str]:
    """Some failures in full, more with one line each: thousands would be unreadable."""
    bad = [result for result in results if result.state.is_bad and not result.tried.is_abandoned]
    for result in bad[:_IN_FULL]:
        yield from (*failure_lines(result, occasion), "")
    for result in bad[_IN_FULL:_TOLD]:
        first = result.tried.differences[:1]
        yield f"{result.state} {result.case.id}" + (f": {printable(first[0].place)}" if first else "")
    if more := len(bad[_TOLD:]):
        yield f"and {more} more; --jsonl FILE and --html FILE write all of them in full"
    if len(bad) > _IN_FULL:
        yield ""


def failure_lines(result: Result, occasion: Occasion) -> Iterator[str]:
    """The request, the differences, the answer, the requirements, and the command to repeat it."""
    case, reply = result.case, result.tried.reply
    yield f"{result.state} {case.id}: {printable(case.title)}"
    yield _about("asked", f"{case.role} {to_json(dict(result.tried.members))}")
    if result.state is State.UNEXPECTED_PASS:
        yield _about("listed", f"as an expected failure: {result.reason}")
    for difference in result.tried.differences:
        yield _about("differs", difference.place)
        yield _about("", f"expected {difference.expected}")
        yield _about("", f"came     {difference.came}")
    if reply and reply.answer is not None and result.tried.differences:
        yield _about("answer", to_json(dict(reply.answer)))
    for requirement in case.requirements:
        yield _about("required by", f"{requirement}, {page_of(requirement)}")
    for line in printable_lines(reply.stderr if reply else "")[-_STDERR_LINES:]:
        yield _about("stderr", line)
    yield _about("ask again", occasion.again(result))


def _about(name: str, text: str) -> str:
    return f"  {name:<{_ABOUT}}{printable(text)}"


def _table(counted: Sequence[Tally]) -> Iterator[str]:
    yield f"{'':<20}  passed  failed  unsupported  expected failures"
    for tally in counted:
        is_part = tally.level or tally.is_of_other_levels
        name = f"  {tally.name.removeprefix('verify ')}" if is_part else tally.name
        if not tally.is_offered:
            yield f"{name:<20}  not offered"
            continue
        counts = (tally.counts[State.UNSUPPORTED], tally.counts[State.EXPECTED_FAILURE])
        yield f"{name:<20}  {tally.counts[State.PASSED]:>6}  {tally.failed:>6}  {counts[0]:>11}  {counts[1]:>17}"


def _conclusion(results: Sequence[Result], occasion: Occasion, found: Sequence[str], total: int) -> str:
    if len(results) < total:
        return f"interrupted: {len(results)} of {total} vectors were asked"
    if found:
        return "not passed: " + "; ".join(found)
    own = [result for result in results if not is_of_other_levels(result, occasion.levels)]
    passed = sum(result.state is State.PASSED for result in own)
    others = f", and {len(results) - len(own)} of other levels" if len(own) < len(results) else ""
    return f"passed: {passed} of {len(own)} vectors{_aside(own)}{others}"


def _aside(results: Sequence[Result]) -> str:
    labels = ((State.EXPECTED_FAILURE, "failed as expected"), (State.NOT_OFFERED, "of roles that are not offered"))
    counts = ((sum(result.state is state for result in results), words) for state, words in labels)
    return "".join(f", {count} {words}" for count, words in counts if count)
