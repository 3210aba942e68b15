"""From a request to its answer."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from forum_runner.conformance.suite_request import PROTOCOL, SuiteRequest

# The function of each role; its module is imported when the role is needed.
_ROLES = {
    "canonicalize": "canonicalize",
    "compile": "compile_bundle",
    "verify": "verify",
    "prove": "prove",
    "run": "carry_out",
}
# An answer may have 1 MiB, and messages contain paths and values of others.
_MAX_MESSAGE = 4_000


async def answer(request: SuiteRequest) -> dict[str, Any]:
    document: dict[str, Any] = {"protocol": PROTOCOL}
    if isinstance(name := request.members.get("id"), str):
        document["id"] = name
    if request.role not in _ROLES:
        return {**document, "verdict": "unsupported"}
    module = importlib.import_module(f"forum_runner.conformance.{request.role}_role")
    answered = getattr(module, _ROLES[request.role])(request)
    document |= await answered if inspect.isawaitable(answered) else answered
    if "message" in document:
        document["message"] = document["message"][:_MAX_MESSAGE]
    return document
