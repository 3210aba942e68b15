"""Answers of `forum` as the program under test. conformance/PROTOCOL.md has the messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from forum_runner.conformance import roles
from forum_runner.conformance.run_role import carry_out
from forum_runner.conformance.suite_request import PROTOCOL, ROLES, MalformedRequestError, SuiteRequest, read_request

__all__ = ["ROLES", "MalformedRequestError", "SuiteRequest", "answer", "read_request"]

_ANSWERS: dict[str, Callable[[SuiteRequest], Any]] = {
    "canonicalize": roles.canonicalize,
    "compile": roles.compile_bundle,
    "verify": roles.verify,
    "prove": roles.prove,
    "run": carry_out,
}
# An answer may have 1 MiB, and messages quote paths and values of any length.
_MAX_MESSAGE = 4_000


async def answer(request: SuiteRequest) -> dict[str, Any]:
    document: dict[str, Any] = {"protocol": PROTOCOL}
    if isinstance(name := request.members.get("id"), str):
        document["id"] = name
    if request.role not in _ANSWERS:
        return {**document, "verdict": "unsupported"}
    answered = _ANSWERS[request.role](request)
    document |= await answered if inspect.isawaitable(answered) else answered
    if "message" in document:
        document["message"] = document["message"][:_MAX_MESSAGE]
    return document
