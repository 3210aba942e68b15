"""From a request to its answer."""

from __future__ import annotations

import importlib
from typing import Any

from forum_runner.app.conformance.request import PROTOCOL, Request

# The module of each role, which is imported when the role is asked for, and its function.
_ROLES = {
    "canonicalize": ("canonicalize", "canonicalize"),
    "compile": ("compile", "compile_bundle"),
    "verify": ("verify", "verify"),
    "prove": ("prove", "prove"),
    "run": ("run", "carry_out"),
}
# An answer may have 1 MiB, and a sentence names paths and values of others.
_MAX_MESSAGE = 4_000


def answer(request: Request) -> dict[str, Any]:
    told: dict[str, Any] = {"protocol": PROTOCOL}
    if isinstance(name := request.members.get("id"), str):
        told["id"] = name
    if request.role not in _ROLES:
        return {**told, "verdict": "unsupported"}
    module, function = _ROLES[request.role]
    found = importlib.import_module(f"forum_runner.app.conformance.{module}")
    told |= getattr(found, function)(request)
    if "message" in told:
        told["message"] = told["message"][:_MAX_MESSAGE]
    return told
