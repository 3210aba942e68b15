"""The interface of an API format, and functions that read the values in a response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from forum_adapters.base import Attempt, Usage
from forum_adapters.models.draft import Draft
from forum_adapters.models.event_stream import Event
from forum_adapters.models.failures import (
    CallFailed,
    ServerError,
    Unreadable,
    kind_of_error,
    read_error,
    read_error_body,
)
from forum_adapters.models.untrusted_json import read_json


class Dialect(Protocol):
    """The request and response format of an API."""

    @property
    def path(self) -> str: ...

    def headers(self, key: str) -> dict[str, str]:
        """The headers for authentication. `key` is empty if there is no key."""
        ...

    def body(self, attempt: Attempt, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON document of the request."""
        ...

    def read_answer(self, document: Mapping[str, Any], draft: Draft) -> None:
        """Adds a whole answer to the draft. Raises CallFailed if it is malformed."""
        ...

    def read_event_into(self, event: Event, draft: Draft) -> None:
        """Adds an event of a stream to the draft. Raises CallFailed if it is an error or malformed."""
        ...

    def usage(self, counts: Mapping[str, Any]) -> Usage | None:
        """The usage from the server's counts; None if a count is missing or impossible."""
        ...


def schema_to_send(attempt: Attempt, settings: Mapping[str, Any]) -> Any:
    """The schema to send with the prompt; None if the prompt has none, or the settings disable it."""
    is_sent = settings.get("structured_output", "json_schema") == "json_schema"
    return attempt.prompt.output_schema if is_sent else None


def read_document(data: bytes) -> dict[str, Any]:
    """Reads a response or a part of it. Raises CallFailed if it is an error or not a JSON object."""
    try:
        document = read_json(data)
    except ValueError as error:
        raise Unreadable("the server sent invalid JSON") from error
    if not isinstance(document, dict):
        raise Unreadable("the server sent JSON that is not an object")
    if document.get("error"):
        raise aborted_answer(read_error(document["error"]))
    return document


def read_event(event: Event) -> dict[str, Any]:
    """The document of an event. An event with the name `error` is an error in any form."""
    if event.name == "error":
        raise aborted_answer(read_error_body(event.data))
    return read_document(event.data)


def aborted_answer(error: ServerError) -> CallFailed:
    return CallFailed(kind_of_error(error), f"the server aborted the answer: {error.message}")


def require_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"'{name}' in the server's response is not an object")
    return value


def require_list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"'{name}' in the server's response is not an array")
    return value


def require_text(value: Any, name: str) -> str:
    """The string, or an empty one for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable(f"'{name}' in the server's response is not a string")
    return value


def join_text_blocks(blocks: list[Any], name: str) -> str:
    """The joined text blocks. Other blocks, such as reasoning, are not part of the answer."""
    return "".join(read_text_block(block, f"{name}[{index}]") for index, block in enumerate(blocks))


def read_text_block(block: Any, name: str) -> str:
    """The text of a block; empty if it is not a text block."""
    fields = require_object(block, name)
    return require_text(fields.get("text"), f"{name}.text") if fields.get("type") == "text" else ""
