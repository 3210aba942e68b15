"""What differs between the servers of one format and those of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from forum_adapters.base import Attempt, ErrorKind, Usage
from forum_adapters.models.document import read_json
from forum_adapters.models.draft import Draft
from forum_adapters.models.event_stream import Event
from forum_adapters.models.failures import CallFailed, kind_of_error, told_by


class Dialect(Protocol):
    @property
    def path(self) -> str: ...

    def headers(self, key: str) -> dict[str, str]:
        """An empty `key` is none."""
        ...

    def body(self, attempt: Attempt, settings: Mapping[str, Any]) -> dict[str, Any]: ...

    def take_whole(self, document: Mapping[str, Any], draft: Draft) -> None: ...

    def take_event(self, event: Event, draft: Draft) -> None: ...

    def usage(self, counts: Mapping[str, Any]) -> Usage | None: ...


def schema_of(attempt: Attempt, settings: Mapping[str, Any]) -> Any:
    """The schema to be sent beside the prompt; None for none."""
    is_sent = settings.get("structured_output", "json_schema") == "json_schema"
    return attempt.prompt.output_schema if is_sent else None


def read_document(data: bytes) -> dict[str, Any]:
    """A part of an answer, or the whole of it. An error that stands in its place is raised as what it is."""
    try:
        document = read_json(data)
    except ValueError as error:
        raise malformed("the server sent what is not JSON") from error
    if not isinstance(document, dict):
        raise malformed("the server sent no JSON object")
    if document.get("error"):
        told = told_by(document["error"])
        raise CallFailed(kind_of_error(told), f"the server broke off: {told.message}")
    return document


def an_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise malformed(f"the answer's '{name}' is no object")
    return value


def a_list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise malformed(f"the answer's '{name}' is no list")
    return value


def a_text(value: Any, name: str) -> str:
    """The empty text for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"the answer's '{name}' is no text")
    return value


def text_of_blocks(blocks: list[Any], name: str) -> str:
    """Other blocks, such as those that hold a model's thoughts, are no part of its answer."""
    objects = [an_object(block, name) for block in blocks]
    return "".join(a_text(block.get("text"), name) for block in objects if block.get("type") == "text")


def malformed(message: str) -> CallFailed:
    return CallFailed(ErrorKind.MALFORMED, message)
