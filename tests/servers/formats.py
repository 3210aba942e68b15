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
    def whole(self) -> str:
        """The finish reason of a complete answer."""
        return {Format.OPENAI: "stop", Format.ANTHROPIC: "end_turn"}[self]

    @property
    def cut(self) -> str:
        return {Format.OPENAI: "length", Format.ANTHROPIC: "max_tokens"}[self]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer. `tokens` are those of the input, how many of them were cached, and those of the output; without them
    the server tells no usage."""

    pieces: Sequence[str] = ("Hello", ", ", "world.")
    tokens: tuple[int, int, int] | None = (10, 4, 5)
    finish: str | None = None
    model: str = "pretender-1"

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def usage(format_: Format, tokens: tuple[int, int, int]) -> dict[str, Any]:
    given, cached, made = tokens
    if format_ is Format.ANTHROPIC:
        return {"input_tokens": given - cached, "cache_read_input_tokens": cached, "output_tokens": made}
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def whole_answer(format_: Format, said: Said) -> dict[str, Any]:
    finish = said.finish or format_.whole
    counted = {"usage": usage(format_, said.tokens)} if said.tokens else {}
    if format_ is Format.ANTHROPIC:
        content = [{"type": "text", "text": said.text}]
        return {"type": "message", "model": said.model, "content": content, "stop_reason": finish, **counted}
    message = {"role": "assistant", "content": said.text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"object": "chat.completion", "model": said.model, "choices": [choice], **counted}


def streamed_answer(format_: Format, said: Said) -> list[bytes]:
    """The events of a stream: one per piece, and those around them."""
    return _messages_stream(said) if format_ is Format.ANTHROPIC else _completions_stream(said)


def event(document: Any, name: str = "") -> bytes:
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(document)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def _completions_stream(said: Said) -> list[bytes]:
    def chunk(delta: Any, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({"object": "chat.completion.chunk", "model": said.model, "choices": [choice]})

    events = [chunk({"role": "assistant", "content": None})]
    events += [chunk({"content": piece}) for piece in said.pieces]
    events.append(chunk({}, said.finish or Format.OPENAI.whole))
    if said.tokens:
        events.append(event({"model": said.model, "choices": [], "usage": usage(Format.OPENAI, said.tokens)}))
    return [*events, DONE]


def _messages_stream(said: Said) -> list[bytes]:
    def typed(name: str, **fields: Any) -> bytes:
        return event({"type": name, **fields}, name)

    message: dict[str, Any] = {"type": "message", "model": said.model, "content": [], "stop_reason": None}
    end: dict[str, Any] = {"delta": {"stop_reason": said.finish or Format.ANTHROPIC.whole}}
    if said.tokens:
        counted = usage(Format.ANTHROPIC, said.tokens)
        message["usage"] = {**counted, "output_tokens": 1}
        end["usage"] = {"output_tokens": counted["output_tokens"]}
    return [
        typed("message_start", message=message),
        typed("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        typed("ping"),
        *(typed("content_block_delta", index=0, delta={"type": "text_delta", "text": text}) for text in said.pieces),
        typed("content_block_stop", index=0),
        typed("message_delta", **end),
        typed("message_stop"),
    ]
