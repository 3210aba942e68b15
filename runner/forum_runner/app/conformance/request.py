"""What the suite asks: one JSON object, read strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_runner.errors import UsageError
from forum_runner.json_text import read_json_text
from forum_runner.manifest.schema_check import validator

PROTOCOL = 1
ROLES = ("canonicalize", "compile", "verify", "prove", "run")
_MAX_REASON = 300
_ANY_ID = "any/id"


class MalformedRequestError(UsageError):
    """What came is no request of this protocol, so there is nothing to answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"this is no request: {reason}")


@dataclass(frozen=True, slots=True)
class Request:
    """The members, which fit conformance-request.schema.json: what an action needs is there."""

    role: str
    members: Mapping[str, Any]

    @property
    def action(self) -> str:
        return self.text("action")

    def path(self, name: str) -> Path:
        return Path(self.text(name))

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


def read_request(data: bytes, role: str | None = None) -> Request:
    """The request; `role` is the one that the program was started for, if it was for one."""
    try:
        form = read_json_text(data.decode())
        json.dumps(form, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MalformedRequestError(f"it is not one JSON value in UTF-8, or gives a key twice ({error})") from error
    asked = form.get("role") if isinstance(form, dict) else None
    if role is None and isinstance(asked, str) and asked not in ROLES:
        return Request(asked, form)
    # The id is only repeated: whoever asks may call a request as they like.
    looked_at = {**form, "id": _ANY_ID} if isinstance(form, dict) and isinstance(form.get("id"), str) else form
    for departure in validator("conformance-request").iter_errors(looked_at):
        place = "".join(f"/{step}" for step in departure.instance_path)
        raise MalformedRequestError(f"{place or 'the object'}: {departure.message}"[:_MAX_REASON])
    if role is not None and asked != role:
        raise MalformedRequestError(f"its role is '{asked}', and the program was started for '{role}'")
    return Request(form["role"], form)
