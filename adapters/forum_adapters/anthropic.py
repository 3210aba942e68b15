"""The adapter for servers with the messages API: `POST {base_url}/messages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_adapters.base import Attempt, Usage
from forum_adapters.models.dialect import (
    join_text_blocks,
    read_event,
    read_text_block,
    require_list,
    require_object,
    require_text,
    schema_to_send,
)
from forum_adapters.models.draft import Draft, is_count, make_usage
from forum_adapters.models.event_stream import Event
from forum_adapters.models.model_server import ModelServer

_API_VERSION = "2023-06-01"


class AnthropicAdapter(ModelServer):
    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, settings, Messages())


class Messages:
    """The messages API as a dialect of `ModelServer`."""

    path = "messages"

    def headers(self, key: str) -> dict[str, str]:
        version = {"anthropic-version": _API_VERSION}
        return {**version, "x-api-key": key} if key else version

    def body(self, attempt: Attempt, settings: Mapping[str, Any]) -> dict[str, Any]:
        prompt = attempt.prompt
        body: dict[str, Any] = {
            "model": settings["model"],
            "messages": [{"role": "user", "content": prompt.text}],
            "max_tokens": attempt.limits.max_tokens,
            "stream": settings.get("stream", True),
        }
        if prompt.system:
            body["system"] = prompt.system
        if "temperature" in settings:
            body["temperature"] = settings["temperature"]
        schema = schema_to_send(attempt, settings)
        if schema is not None:
            # A server that does not know the field ignores it, as llama.cpp does, or rejects the request.
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def read_answer(self, document: Mapping[str, Any], draft: Draft) -> None:
        self._read_message(document, draft)
        draft.add(join_text_blocks(require_list(document.get("content"), "content"), "content"))

    def read_event_into(self, event: Event, draft: Draft) -> None:
        """Adds the content of an event to the draft. Events of other types can arrive at any time and are ignored."""
        document = read_event(event)
        match document.get("type"):
            case "message_start":
                self._read_message(require_object(document.get("message"), "message"), draft)
            case "content_block_start":
                draft.add(read_text_block(document.get("content_block"), "content_block"))
            case "content_block_delta":
                delta = require_object(document.get("delta"), "delta")
                if delta.get("type") == "text_delta":
                    draft.add(require_text(delta.get("text"), "text"))
            case "message_delta":
                draft.count(document.get("usage"))
                self._read_finish(require_object(document.get("delta"), "delta"), draft)
            case "message_stop":
                draft.is_ended = True

    def usage(self, counts: Mapping[str, Any]) -> Usage | None:
        """The usage; None if a count is missing or impossible. This API counts cached input tokens separately."""
        cached = counts.get("cache_read_input_tokens", 0)
        parts = (counts.get("input_tokens"), cached, counts.get("cache_creation_input_tokens", 0))
        if not all(is_count(part) for part in parts):
            return None
        return make_usage(sum(parts), cached, counts.get("output_tokens"))

    def _read_message(self, message: Mapping[str, Any], draft: Draft) -> None:
        draft.model = require_text(message.get("model"), "model")
        draft.count(message.get("usage"))
        self._read_finish(message, draft)

    def _read_finish(self, message: Mapping[str, Any], draft: Draft) -> None:
        draft.finish = require_text(message.get("stop_reason"), "stop_reason") or draft.finish
