"""Answers the conformance suite, with `forum` as the program under test. See conformance/PROTOCOL.md."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from forum_runner.conformance import roles
from forum_runner.conformance.run_role import answer_run_request
from forum_runner.conformance.suite_request import PROTOCOL, ROLES, SuiteRequest, read_request

__all__ = ["ROLES", "SuiteRequest", "answer", "read_request"]

_ANSWERS: dict[str, Callable[[SuiteRequest], Any]] = {
    "canonicalize": roles.canonicalize,
    "compile": roles.compile_bundle,
    "verify": roles.verify,
    "prove": roles.prove,
    "run": answer_run_request,
}
# An answer may have 1 MiB, and messages quote paths and values of any length.
_MAX_MESSAGE = 4_000


async def answer(request: SuiteRequest) -> dict[str, Any]:
    document: dict[str, Any] = {"protocol": PROTOCOL}
    if isinstance(name := request.members.get("id"), str):
        document["id"] = name
    if request.role not in _ANSWERS:
        return {**document, "verdict": "unsupported"}
    members = _ANSWERS[request.role](request)
    document |= await members if inspect.isawaitable(members) else members
    if "message" in document:
        document["message"] = document["message"][:_MAX_MESSAGE]
    return document
