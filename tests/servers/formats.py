"""The answers of a working model server, in both formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Format(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"

    @classmethod
    def of_path(cls, path: str) -> Format:
        return cls.ANTHROPIC if path.endswith("/messages") else cls.OPENAI

    @property
    def path(self) -> str:
        return {Format.OPENAI: "chat/completions", Format.ANTHROPIC: "messages"}[self]

    @property
    def complete_reason(self) -> str:
        """The finish reason of a complete answer."""
        return {Format.OPENAI: "stop", Format.ANTHROPIC: "end_turn"}[self]

    @property
    def truncated_reason(self) -> str:
        """The finish reason of an answer that reached the token limit."""
        return {Format.OPENAI: "length", Format.ANTHROPIC: "max_tokens"}[self]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer of a model. `tokens` are the input tokens, the cached ones of these, and the output tokens. With None,
    the server reports no usage."""

    pieces: Sequence[str] = ("Hello", ", ", "world.")
    tokens: tuple[int, int, int] | None = (10, 4, 5)
    finish: str | None = None
    model: str = "fake-1"

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def usage(format_: Format, tokens: tuple[int, int, int]) -> dict[str, Any]:
    input_tokens, cached, output_tokens = tokens
    if format_ is Format.ANTHROPIC:
        return {
            "input_tokens": input_tokens - cached,
            "cache_read_input_tokens": cached,
            "output_tokens": output_tokens,
        }
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def complete_answer(format_: Format, answer: ModelAnswer) -> dict[str, Any]:
    finish = answer.finish or format_.complete_reason
    usage_field = {"usage": usage(format_, answer.tokens)} if answer.tokens else {}
    if format_ is Format.ANTHROPIC:
        content = [{"type": "text", "text": answer.text}]
        return {"type": "message", "model": answer.model, "content": content, "stop_reason": finish, **usage_field}
    message = {"role": "assistant", "content": answer.text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"object": "chat.completion", "model": answer.model, "choices": [choice], **usage_field}


def streamed_answer(format_: Format, answer: ModelAnswer) -> list[bytes]:
    """Return the events of a stream: one per piece, and the events around them."""
    return _messages_stream(answer) if format_ is Format.ANTHROPIC else _completions_stream(answer)


def event(document: Any, name: str = "") -> bytes:
    header = f"event: {name}\n" if name else ""
    return f"{header}data: {json.dumps(document)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def _completions_stream(answer: ModelAnswer) -> list[bytes]:
    def chunk(delta: Any, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({"object": "chat.completion.chunk", "model": answer.model, "choices": [choice]})

    events = [chunk({"role": "assistant", "content": None})]
    events += [chunk({"content": piece}) for piece in answer.pieces]
    events.append(chunk({}, answer.finish or Format.OPENAI.complete_reason))
    if answer.tokens:
        events.append(event({"model": answer.model, "choices": [], "usage": usage(Format.OPENAI, answer.tokens)}))
    return [*events, DONE]


def _messages_stream(answer: ModelAnswer) -> list[bytes]:
    def named_event(name: str, **fields: Any) -> bytes:
        return event({"type": name, **fields}, name)

    message: dict[str, Any] = {"type": "message", "model": answer.model, "content": [], "stop_reason": None}
    end: dict[str, Any] = {"delta": {"stop_reason": answer.finish or Format.ANTHROPIC.complete_reason}}
    if answer.tokens:
        usage_fields = usage(Format.ANTHROPIC, answer.tokens)
        message["usage"] = {**usage_fields, "output_tokens": 1}
        end["usage"] = {"output_tokens": usage_fields["output_tokens"]}
    return [
        named_event("message_start", message=message),
        named_event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        named_event("ping"),
        *(
            named_event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
            for text in answer.pieces
        ),
        named_event("content_block_stop", index=0),
        named_event("message_delta", **end),
        named_event("message_stop"),
    ]
