"""Build requests from a vector's own members, paths and levels."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from forum_conformance.suite.case import PATH_MEMBERS, Case

PROTOCOL = 1
ALWAYS_CHECKED = frozenset({1, 2})
"""The levels of `verify` that are checked even if they are not requested."""

# A bare ledger has neither bodies (level 3) nor a plan (level 4).
_BARE_LEDGER_LEVELS = ALWAYS_CHECKED | {5}
_LEVEL_5_MEMBERS = ("checkpoint", "key", "pin", "expect_head")


def own_members(case: Case, levels: frozenset[int] | None) -> dict[str, Any]:
    """The members of the request that come from the vector. For `verify`, `levels` replaces the vector's levels."""
    members = {name: value for name, value in case.request.items() if name != "before"}
    if case.role != "verify" or levels is None:
        return members
    requested = requested_levels(case, levels)
    if 5 not in requested:
        # A checkpoint, key, pin or head without level 5 is a usage error.
        members = {name: value for name, value in members.items() if name not in _LEVEL_5_MEMBERS}
    return {**members, "levels": sorted(requested)}


def requested_levels(case: Case, levels: frozenset[int]) -> frozenset[int]:
    """Those of `levels` that the vector allows, and the levels that are always checked."""
    vector_levels = frozenset(case.request.get("levels", range(1, 6)))
    is_bare = case.request["input"] in case.files
    return ALWAYS_CHECKED | (levels & vector_levels & (_BARE_LEDGER_LEVELS if is_bare else vector_levels))


def request_for(
    case: Case, members: Mapping[str, Any], *, folder: PurePath, output: PurePath | None = None
) -> dict[str, Any]:
    """The whole request. `folder` contains the vector's files; `output` is the path for the result."""
    with_paths = {name: str(folder / value) if name in PATH_MEMBERS else value for name, value in members.items()}
    output_member = {"output": str(output)} if writes_output(case) else {}
    return {"protocol": PROTOCOL, "id": case.id, "role": case.role, **with_paths, **output_member}


def writes_output(case: Case) -> bool:
    return case.role != "verify" and case.request.get("action") != "check"
