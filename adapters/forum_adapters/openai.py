"""The adapter for servers with the chat completions API: `POST {base_url}/chat/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_adapters.base import Attempt, Usage
from forum_adapters.models.dialect import (
    aborted_answer,
    join_text_blocks,
    read_event,
    require_list,
    require_object,
    require_text,
    schema_to_send,
)
from forum_adapters.models.draft import Draft, make_usage
from forum_adapters.models.event_stream import Event
from forum_adapters.models.failures import Unreadable, read_error
from forum_adapters.models.model_server import ModelServer

_END_MARKER = b"[DONE]"


class OpenAIAdapter(ModelServer):
    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, settings, ChatCompletions())


class ChatCompletions:
    """The chat completions API as a dialect of `ModelServer`."""

    path = "chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, attempt: Attempt, settings: Mapping[str, Any]) -> dict[str, Any]:
        prompt = attempt.prompt
        is_stream = settings.get("stream", True)
        body: dict[str, Any] = {
            "model": settings["model"],
            "messages": [{"role": "user", "content": prompt.text}],
            "max_tokens": attempt.limits.max_tokens,
            "stream": is_stream,
        }
        if prompt.system:
            body["messages"].insert(0, {"role": "system", "content": prompt.system})
        if is_stream:
            body["stream_options"] = {"include_usage": True}
        if "temperature" in settings:
            body["temperature"] = settings["temperature"]
        schema = schema_to_send(attempt, settings)
        if schema is not None:
            # Not `strict`, which accepts only schemas that require every property and allow no others.
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "output", "schema": schema}}
        return body

    def read_answer(self, document: Mapping[str, Any], draft: Draft) -> None:
        choices = require_list(document.get("choices"), "choices")
        if not choices:
            raise Unreadable("'choices' in the server's response is empty")
        self._read_choice(document, choices[0], "message", draft)

    def read_event_into(self, event: Event, draft: Draft) -> None:
        if event.data.strip() == _END_MARKER:
            draft.is_ended = True
            return
        document = read_event(event)
        choices = require_list(document.get("choices") or [], "choices")
        # The chunk with the usage has no choices.
        self._read_choice(document, choices[0] if choices else {"delta": {}}, "delta", draft)

    def usage(self, counts: Mapping[str, Any]) -> Usage | None:
        details = counts.get("prompt_tokens_details", {})
        if not isinstance(details, dict):
            return None
        cached = details.get("cached_tokens")
        return make_usage(counts.get("prompt_tokens"), 0 if cached is None else cached, counts.get("completion_tokens"))

    def _read_choice(self, document: Mapping[str, Any], choice: Any, name: str, draft: Draft) -> None:
        draft.model = require_text(document.get("model"), "model") or draft.model
        draft.count(document.get("usage"))
        choice = require_object(choice, "choices[0]")
        if choice.get("error"):
            raise aborted_answer(read_error(choice["error"]))
        draft.finish = require_text(choice.get("finish_reason"), "finish_reason") or draft.finish
        part = require_object(choice.get(name), name)
        draft.refusal += require_text(part.get("refusal"), "refusal")
        content = part.get("content")
        draft.add(
            join_text_blocks(content, "content") if isinstance(content, list) else require_text(content, "content")
        )
