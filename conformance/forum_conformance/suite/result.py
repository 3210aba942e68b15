"""The result of a vector."""

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
    UNEXPECTED_PASS = "unexpected pass"  # noqa: S105 - no password
    NOT_OFFERED = "not offered"

    @property
    def is_bad(self) -> bool:
        return self in (State.FAILED, State.UNSUPPORTED, State.UNEXPECTED_PASS)


@dataclass(frozen=True, slots=True)
class Tried:
    """A vector that was asked; its state depends on the others of its role."""

    case: Case
    members: Mapping[str, Any]
    """The request's own members."""
    expected: Mapping[str, Any]
    reply: Reply | None
    """None if it was not asked: its role is not offered or, if there is a difference, was abandoned."""
    differences: tuple[Difference, ...]

    @property
    def is_abandoned(self) -> bool:
        return self.reply is None and bool(self.differences)


@dataclass(frozen=True, slots=True)
class Result:
    tried: Tried
    state: State
    reason: str | None
    """Why it is expected to fail."""

    @property
    def case(self) -> Case:
        return self.tried.case


def roles_not_offered(tried: Iterable[Tried], whole: Mapping[str, int] | None = None) -> set[str]:
    """The roles that the program refused in every request.

    `unsupported` refuses a role only if all its vectors get it: `whole` is the number of vectors of each role, in case
    not all were asked.
    """
    asked = [each for each in tried if each.reply is not None]
    counts = Counter(each.case.role for each in asked)
    refusals = Counter(each.case.role for each in asked if _refuses_role(each))
    by_status = {each.case.role for each in asked if each.reply is not None and each.reply.is_not_offered}
    all_refused = {role for role, count in counts.items() if refusals[role] == count}
    return {role for role in all_refused if role in by_status or whole is None or counts[role] == whole[role]}


def _refuses_role(tried: Tried) -> bool:
    reply = tried.reply
    # A process that serves all requests has no exit status per request.
    return reply is not None and (reply.is_not_offered or (reply.is_unsupported and reply.exit_status is None))


def settle(tried: Iterable[Tried], reasons: Mapping[str, str], whole: Mapping[str, int] | None = None) -> list[Result]:
    """The results, ordered by id. `reasons` maps ids to the reason of an expected failure."""
    tried = sorted(tried, key=lambda each: each.case.id)
    missing = roles_not_offered(tried, whole)
    return [_result(each, reasons.get(each.case.id), is_offered=each.case.role not in missing) for each in tried]


def _result(tried: Tried, reason: str | None, *, is_offered: bool) -> Result:
    if not is_offered:
        return Result(tried, State.NOT_OFFERED, None)
    if not tried.differences:
        return Result(tried, State.PASSED if reason is None else State.UNEXPECTED_PASS, reason)
    if reason is not None:
        return Result(tried, State.EXPECTED_FAILURE, reason)
    is_unsupported = tried.reply is not None and (tried.reply.is_unsupported or tried.reply.is_not_offered)
    return Result(tried, State.UNSUPPORTED if is_unsupported else State.FAILED, None)


def refused_late(reply: Reply) -> Difference:
    return Difference("exit status", "0: the role is offered, other vectors were answered", str(reply.exit_status))


def abandoned_difference(problem: Difference, count: int) -> Difference:
    description = f"the first {count} vectors of the role all failed in the same way: {problem.place}: {problem.came}"
    return Difference("not asked", "an answer", description)
