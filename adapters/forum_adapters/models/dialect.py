"""What differs between the servers of one format and those of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from forum_adapters.base import Attempt, Usage
from forum_adapters.models.document import read_json
from forum_adapters.models.draft import Draft
from forum_adapters.models.event_stream import Event
from forum_adapters.models.failures import CallFailed, Told, Unreadable, kind_of_error, told_by, told_by_body


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
        raise Unreadable("the server sent what is not JSON") from error
    if not isinstance(document, dict):
        raise Unreadable("the server sent no JSON object")
    if document.get("error"):
        raise broken_off(told_by(document["error"]))
    return document


def read_event(event: Event) -> dict[str, Any]:
    """An event that is called an error is one, in whatever shape."""
    if event.name == "error":
        raise broken_off(told_by_body(event.data))
    return read_document(event.data)


def broken_off(told: Told) -> CallFailed:
    return CallFailed(kind_of_error(told), f"the server broke off: {told.message}")


def an_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"the answer's '{name}' is no object")
    return value


def a_list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"the answer's '{name}' is no list")
    return value


def a_text(value: Any, name: str) -> str:
    """The empty text for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable(f"the answer's '{name}' is no text")
    return value


def text_of_blocks(blocks: list[Any], name: str) -> str:
    """Other blocks, such as those that hold a model's thoughts, are no part of its answer."""
    objects = [an_object(block, name) for block in blocks]
    return "".join(a_text(block.get("text"), name) for block in objects if block.get("type") == "text")
