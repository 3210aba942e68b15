"""Requests: a vector's own members plus paths."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from forum_conformance.suite.case import PATH_MEMBERS, Case

PROTOCOL = 1
ALWAYS = frozenset({1, 2})

_BARE = ALWAYS | {5}
_LEVEL_5_MEMBERS = ("checkpoint", "key", "pin", "expect_head")


def own_members(case: Case, levels: frozenset[int] | None) -> dict[str, Any]:
    """The vector's own members. Without `levels`, the vector's levels or all are requested."""
    members = {name: value for name, value in case.request.items() if name != "before"}
    if case.role != "verify" or levels is None:
        return members
    asked = levels_of(case, levels)
    if 5 not in asked:
        # A witness without level 5 is a usage error.
        members = {name: value for name, value in members.items() if name not in _LEVEL_5_MEMBERS}
    return {**members, "levels": sorted(asked)}


def levels_of(case: Case, levels: frozenset[int]) -> frozenset[int]:
    """The requested levels of a vector, if not all: a bare ledger has neither bodies nor a plan."""
    own = frozenset(case.request.get("levels", range(1, 6)))
    is_bare = case.request["input"] in case.files
    return ALWAYS | (levels & own & (_BARE if is_bare else own))


def request_for(
    case: Case, members: Mapping[str, Any], *, folder: PurePath, output: PurePath | None = None
) -> dict[str, Any]:
    """The whole request. `folder` contains the vector's files; `output` is the path for the result."""
    placed = {name: str(folder / value) if name in PATH_MEMBERS else value for name, value in members.items()}
    wanted = {"output": str(output)} if writes_output(case) else {}
    return {"protocol": PROTOCOL, "id": case.id, "role": case.role, **placed, **wanted}


def writes_output(case: Case) -> bool:
    return case.role != "verify" and case.request.get("action") != "check"
