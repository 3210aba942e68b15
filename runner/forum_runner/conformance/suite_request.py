"""A request of the conformance suite: one JSON object, read strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_runner.errors import UsageError
from forum_runner.json_text import read_json_text
from forum_runner.manifest.schema_check import validator
from forum_runner.workspace import Workspace

PROTOCOL = 1
ROLES = ("canonicalize", "compile", "verify", "prove", "run")
_MAX_REASON = 300
_ANY_ID = "any/id"
# Paths in a request may be relative to the current directory of the program under test.
WORKSPACE = Workspace(Path())


class MalformedRequestError(UsageError):
    """The input is not a request of this protocol."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not a request: {reason}")


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """The members, which are valid against conformance-request.schema.json: none that an action needs is missing."""

    role: str
    members: Mapping[str, Any]

    @property
    def action(self) -> str:
        return self.text("action")

    def path(self, name: str) -> Path:
        return Path(self.text(name))

    def existing_path(self, name: str) -> Path:
        path = self.path(name)
        if not path.exists():
            raise UsageError(f"there is no file or folder '{path}'")
        return path

    def optional_path(self, name: str) -> Path | None:
        return None if name not in self.members else self.path(name)

    def text(self, name: str) -> str:
        return str(self.members[name])

    def optional_text(self, name: str) -> str | None:
        return self.members.get(name)

    def number(self, name: str) -> int:
        return int(self.members[name])

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(self.members.get(name, ()))

    def levels(self) -> frozenset[int] | None:
        found = self.members.get("levels")
        return None if found is None else frozenset(map(int, found))


def read_request(data: bytes, role: str | None = None) -> SuiteRequest:
    """The request. `role` is the role that the program was started for, if any."""
    try:
        form = read_json_text(data.decode())
        json.dumps(form, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MalformedRequestError(f"it is not one JSON value in UTF-8, or repeats a key ({error})") from error
    asked = form.get("role") if isinstance(form, dict) else None
    if role is None and isinstance(asked, str) and asked not in ROLES:
        return SuiteRequest(asked, form)
    # The id is only repeated, so any text will do.
    checked = {**form, "id": _ANY_ID} if isinstance(form, dict) and isinstance(form.get("id"), str) else form
    for departure in validator("conformance-request").iter_errors(checked):
        place = "".join(f"/{step}" for step in departure.instance_path)
        raise MalformedRequestError(f"{place or 'the object'}: {departure.message}"[:_MAX_REASON])
    if role is not None and asked != role:
        raise MalformedRequestError(f"its role is '{asked}', and the program was started for '{role}'")
    return SuiteRequest(form["role"], form)
