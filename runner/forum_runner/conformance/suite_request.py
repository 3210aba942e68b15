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
_MAX_MESSAGE = 300
_ANY_ID = "any/id"
# Paths in a request may be relative to the current directory of the program under test.
WORKSPACE = Workspace(Path())


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """A request. Its members are valid against conformance-request.schema.json, so none that it needs is missing."""

    role: str
    members: Mapping[str, Any]

    def path(self, name: str) -> Path:
        return Path(self.text(name))

    def existing_path(self, name: str) -> Path:
        path = self.path(name)
        if not path.exists():
            raise UsageError(f"'{path}' does not exist")
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


def read_request(data: bytes, role: str | None = None) -> SuiteRequest:
    """Reads a request. `role` is the role that the program was started for, if any."""
    try:
        document = read_json_text(data.decode())
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"invalid request: not one JSON value in UTF-8, or a key is repeated ({error})") from error
    requested = document.get("role") if isinstance(document, dict) else None
    if role is None and isinstance(requested, str) and requested not in ROLES:
        return SuiteRequest(requested, document)
    # The answer only repeats the id, so any string is valid.
    has_id = isinstance(document, dict) and isinstance(document.get("id"), str)
    checked = {**document, "id": _ANY_ID} if has_id else document
    for violation in validator("conformance-request").iter_errors(checked):
        place = "".join(f"/{step}" for step in violation.instance_path)
        raise UsageError(f"invalid request: {place or 'the object'}: {violation.message}"[:_MAX_MESSAGE])
    if role is not None and requested != role:
        raise UsageError(f"invalid request: its role is '{requested}', but the program was started for '{role}'")
    return SuiteRequest(document["role"], document)
