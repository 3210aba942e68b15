"""One vector: the content of `case.json`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ROLES = ("canonicalize", "compile", "verify", "prove", "run")

PATH_MEMBERS = ("input", "root", "inputs", "checkpoint", "key", "pin", "script", "base", "cache")
"""Members of a request that name files of the vector."""

_APPENDING_ACTIONS = ("decide", "redact")
"""Actions that append to a run's ledger without resuming it."""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    title: str
    role: str
    requirements: tuple[str, ...]
    level: int | None
    request: Mapping[str, Any]
    expected: Mapping[str, Any]
    files: Mapping[str, str]
    """The SHA-256 of each file in the vector's directory, by relative path."""

    @property
    def area(self) -> str:
        return self.id.partition("/")[0]

    @property
    def initial_run(self) -> str | None:
        """The run directory that the request starts from; None if it starts from nothing."""
        initial_run: str | None = self.request.get("before")
        return initial_run

    @property
    def is_negative(self) -> bool:
        return is_negative(self.role, self.request, self.expected)


def is_negative(role: str, request: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether the vector expects a failure, as defined in vectors/README.md.

    For an action that only appends to a ledger, the status does not matter: a run may correctly stay paused after a
    decision.
    """
    executes_tasks = role == "run" and request.get("action") not in _APPENDING_ACTIONS
    return bool(expected["verdict"] != "valid" or (executes_tasks and expected.get("status") != "passed"))


def parse_case(document: Mapping[str, Any], files: Mapping[str, str]) -> Case:
    """The case in a document that matches `conformance-case.schema.json`."""

    return Case(
        id=document["id"],
        title=document["title"],
        role=document["role"],
        requirements=tuple(document["requirements"]),
        level=document.get("level"),
        request=document["request"],
        expected=document["expected"],
        files=files,
    )


def spec_page(requirement: str) -> str:
    """The specification page of a requirement."""
    area = requirement.partition("-")[0].lower()
    return f"docs/spec/{'manifests' if area == 'manifest' else area}.md"
