"""The outcome of running a vector, and its state in the results."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forum_conformance.suite.case import Case
from forum_conformance.suite.client import Reply
from forum_conformance.suite.difference import Difference


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    """The program answered `unsupported` in a role that it offers."""
    EXPECTED_FAILURE = "expected failure"
    UNEXPECTED_PASS = "unexpected pass"  # noqa: S105 - not a password
    NOT_OFFERED = "not offered"

    @property
    def is_bad(self) -> bool:
        return self in (State.FAILED, State.UNSUPPORTED, State.UNEXPECTED_PASS)


@dataclass(frozen=True, slots=True)
class VectorOutcome:
    """The reply to a vector. Its state also depends on the other vectors of its role."""

    case: Case
    members: Mapping[str, Any]
    """The request's own members."""
    expected: Mapping[str, Any]
    reply: Reply | None
    """None if it was not run: its role is not offered or, if there is a difference, was abandoned."""
    differences: tuple[Difference, ...]

    @property
    def is_abandoned(self) -> bool:
        return self.reply is None and bool(self.differences)


@dataclass(frozen=True, slots=True)
class Result:
    outcome: VectorOutcome
    state: State
    reason: str | None
    """Why it is expected to fail."""

    @property
    def case(self) -> Case:
        return self.outcome.case


def roles_not_offered(outcomes: Iterable[VectorOutcome], vector_counts: Mapping[str, int] | None = None) -> set[str]:
    """The roles that the program refused in every request.

    `unsupported` refuses a role only if all its vectors get this answer. If not all vectors were run, `vector_counts`
    is the number of vectors of each role.
    """
    replied = [outcome for outcome in outcomes if outcome.reply is not None]
    counts = Counter(outcome.case.role for outcome in replied)
    refusals = Counter(outcome.case.role for outcome in replied if _refuses_role(outcome))
    by_status = {outcome.case.role for outcome in replied if outcome.reply and outcome.reply.is_not_offered}
    all_refused = {role for role, count in counts.items() if refusals[role] == count}
    return {
        role
        for role in all_refused
        if role in by_status or vector_counts is None or counts[role] == vector_counts[role]
    }


def _refuses_role(outcome: VectorOutcome) -> bool:
    reply = outcome.reply
    # A process that serves all requests has no exit status per request.
    return reply is not None and (reply.is_not_offered or (reply.is_unsupported and reply.exit_status is None))


def assign_states(
    outcomes: Iterable[VectorOutcome], reasons: Mapping[str, str], vector_counts: Mapping[str, int] | None = None
) -> list[Result]:
    """The results, ordered by id.

    `reasons` maps the ids of expected failures to their reasons; `vector_counts` is as in `roles_not_offered`.
    """
    ordered = sorted(outcomes, key=lambda outcome: outcome.case.id)
    not_offered = roles_not_offered(ordered, vector_counts)
    return [
        _result(outcome, reasons.get(outcome.case.id), is_offered=outcome.case.role not in not_offered)
        for outcome in ordered
    ]


def _result(outcome: VectorOutcome, reason: str | None, *, is_offered: bool) -> Result:
    if not is_offered:
        return Result(outcome, State.NOT_OFFERED, None)
    if not outcome.differences:
        return Result(outcome, State.PASSED if reason is None else State.UNEXPECTED_PASS, reason)
    if reason is not None:
        return Result(outcome, State.EXPECTED_FAILURE, reason)
    is_unsupported = outcome.reply is not None and (outcome.reply.is_unsupported or outcome.reply.is_not_offered)
    return Result(outcome, State.UNSUPPORTED if is_unsupported else State.FAILED, None)


def late_refusal_difference(reply: Reply) -> Difference:
    """The difference for a program that refuses a role by its exit status after it answered vectors of the role."""
    return Difference("exit status", "0: the role is offered, other vectors were answered", str(reply.exit_status))


def abandoned_difference(problem: Difference, count: int) -> Difference:
    """The difference for a vector that is not run because the first `count` of its role had the same problem."""
    description = f"the first {count} vectors of the role all failed in the same way: {problem.place}: {problem.actual}"
    return Difference("not run", "an answer", description)
