"""Cases and results in memory, without files."""

from collections.abc import Iterable, Mapping
from typing import Any

from forum_conformance.suite.case import Case, parse_case
from forum_conformance.suite.client import Reply
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.result import VectorOutcome
from suites.tiny_set import case, verify_case

DIFFERENCE = Difference("verdict", '"valid"', '"invalid"')


def make_case(
    role: str, request: Mapping[str, Any], expected: Mapping[str, Any] | None = None, files: Iterable[str] = ()
) -> Case:
    document = case("area/name", role, request, expected or {"verdict": "valid"})
    return parse_case(document, dict.fromkeys(files, "0" * 64))


def ledger(codes: Mapping[str, int | None] | None = None, *, is_bare: bool = False, **request: Any) -> Case:
    """Return a case for `verify`."""
    document = verify_case("area/name", codes)
    document["request"] |= request
    return parse_case(document, {"run" if is_bare else "run/ledger.jsonl": "0" * 64})


def reply(verdict: str | None = "valid", *, status: int | None = 0, problem: Difference | None = None) -> Reply:
    answer = {"protocol": 1, "verdict": verdict} if verdict else None
    return Reply(answer, problem, status, duration_ms=7, stderr="")


def outcome_of(id_: str, role: str, reply: Reply | None, *differences: Difference) -> VectorOutcome:
    document = case(id_, role, {"input": "input.json"}, {"verdict": "valid"})
    return VectorOutcome(parse_case(document, {}), {"input": "input.json"}, {"verdict": "valid"}, reply, differences)
