"""Results as a list of expected failures: one line `id: reason` each."""

from collections.abc import Mapping, Sequence

from forum_conformance.results.printable import printable
from forum_conformance.suite.result import Result, State

_MAX_REASON_LENGTH = 200


def expected_failures_text(results: Sequence[Result], reasons: Mapping[str, str]) -> str:
    """Failed and unsupported vectors, with the difference as the reason.

    `reasons` come from the existing list: they are kept unless the vector passed. Vectors that were not run are not
    added.
    """
    passed = {result.case.id for result in results if result.state is State.UNEXPECTED_PASS}
    still_listed = {id_: reason for id_, reason in reasons.items() if id_ not in passed}
    failed = {
        result.case.id: _reason(result)
        for result in results
        if result.state in (State.FAILED, State.UNSUPPORTED) and not result.outcome.is_abandoned
    }
    return "".join(f"{id_}: {reason}\n" for id_, reason in sorted({**still_listed, **failed}.items()))


def _reason(result: Result) -> str:
    if result.state is State.UNSUPPORTED:
        return "unsupported"
    first = result.outcome.differences[0]
    text = printable(f"{first.place}: expected {first.expected}, got {first.actual}")
    return text if len(text) <= _MAX_REASON_LENGTH else text[:_MAX_REASON_LENGTH] + "..."
