"""The schema of requests defines the members of each role and action."""

from typing import Any

import jsonschema
import pytest

from forum_conformance.schemas import schema

VALIDATOR = jsonschema.Draft202012Validator(schema("conformance-request.schema.json"))

VALUES: dict[str, Any] = {
    **dict.fromkeys(
        ("input", "output", "root", "inputs", "checkpoint", "key", "pin", "script", "base", "cache"), "/path"
    ),
    **{name: ["task"] for name in ("from", "only", "until")},
    **dict.fromkeys(("seq", "size", "from_size", "entry"), 3),
    **dict.fromkeys(("task", "by", "reason", "edited", "body"), "text"),
    "levels": [1, 2, 5],
    "expect_head": "0" * 64,
    "decision": "approved",
}
SHAPES = [
    ("canonicalize", None, "input output", ""),
    ("compile", None, "input output root", "inputs"),
    ("verify", None, "input", "levels checkpoint key pin expect_head"),
    ("prove", "checkpoint", "input output size", ""),
    ("prove", "inclusion", "input output seq size", ""),
    ("prove", "consistency", "input output from_size size", ""),
    ("prove", "check", "input", "checkpoint key pin"),
    ("run", "run", "input output root", "inputs script base cache from only until"),
    ("run", "resume", "input output root", "inputs script base cache from only until"),
    ("run", "decide", "input output root task decision by", "inputs script reason edited"),
    ("run", "redact", "input output root entry body reason by", "inputs script"),
]


def request(role: str, action: str | None, members: set[str]) -> dict[str, Any]:
    common = {"protocol": 1, "id": "area/name", "role": role, **({"action": action} if action else {})}
    return {**common, **{name: VALUES[name] for name in members}}


@pytest.mark.parametrize(("role", "action", "required", "allowed"), SHAPES)
def test_a_role_has_only_its_members(role: str, action: str | None, required: str, allowed: str) -> None:
    needed, possible = set(required.split()), set(allowed.split())

    assert VALIDATOR.is_valid(request(role, action, needed))
    assert VALIDATOR.is_valid(request(role, action, needed | possible))
    for name in needed:
        assert not VALIDATOR.is_valid(request(role, action, needed - {name})), name
    for name in VALUES.keys() - needed - possible:
        assert not VALIDATOR.is_valid(request(role, action, needed | {name})), name


@pytest.mark.parametrize(
    ("role", "action"), [("prove", None), ("run", None), ("prove", "resume"), ("run", "check"), ("verify", "check")]
)
def test_an_action_belongs_to_its_role(role: str, action: str | None) -> None:
    assert not VALIDATOR.is_valid(request(role, action, {"input", "output", "root"} if role == "run" else {"input"}))


@pytest.mark.parametrize("levels", [[1], [2, 3], [1, 2, 2], [1, 2, 6]])
def test_requested_levels_must_include_the_first_two(levels: list[int]) -> None:
    assert not VALIDATOR.is_valid(request("verify", None, {"input"}) | {"levels": levels})
