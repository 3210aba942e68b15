"""An answer while it arrives: its text, finish reason and usage, as the server reports them."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_adapters.base import ErrorKind, Usage
from forum_adapters.models.failures import CallFailed

# Python loads a codec from a file. Load it here: during a call, the process may have too many files open.
codecs.lookup("utf-16-le")
_MAX_COUNT = 2**53 - 1
# The failure for each finish reason; None if the answer is complete.
_FINISHES: Mapping[str, ErrorKind | None] = {
    "stop": None,
    "end_turn": None,
    "stop_sequence": None,
    "length": ErrorKind.OUTPUT_LIMIT,
    "max_tokens": ErrorKind.OUTPUT_LIMIT,
    "model_context_window_exceeded": ErrorKind.CONTEXT_LENGTH,
    "content_filter": ErrorKind.CONTENT_FILTER,
    "refusal": ErrorKind.CONTENT_FILTER,
    "tool_calls": ErrorKind.MALFORMED,
    "function_call": ErrorKind.MALFORMED,
    "tool_use": ErrorKind.MALFORMED,
}


@dataclass(slots=True)
class Draft:
    """An answer that is still arriving.

    `counts` is the usage as the server reports it. `may_be_received` is set when the server may have received the
    request, `is_ended` when the whole response has arrived, including the end marker of a stream.
    """

    max_bytes: int
    model: str = ""
    finish: str = ""
    refusal: str = ""
    counts: dict[str, Any] = field(default_factory=dict)
    may_be_received: bool = False
    is_ended: bool = False
    _pieces: list[str] = field(default_factory=list)
    _size: int = 0

    def add(self, text: str) -> None:
        """Adds text. If the answer becomes too long, keeps the part that fits and raises CallFailed."""
        encoded = text.encode("utf-8", "surrogatepass")
        room = self.max_bytes - self._size
        if len(encoded) > room:
            self._pieces.append(encoded[:room].decode("utf-8", "ignore"))
            raise CallFailed(ErrorKind.OUTPUT_LIMIT, f"the answer has more than {self.max_bytes} bytes")
        self._pieces.append(text)
        self._size += len(encoded)

    def count(self, usage: Any) -> None:
        """Adds usage counts. Later counts replace earlier ones, because servers report running totals."""
        if isinstance(usage, dict):
            self.counts.update((name, value) for name, value in usage.items() if value is not None)

    @property
    def is_complete(self) -> bool:
        """Whether the whole answer has arrived; until then, `counts` are incomplete.

        Some servers send a finish reason but no end marker.
        """
        return self.is_ended or bool(self.finish)

    @property
    def content(self) -> bytes:
        return self._text("replace").encode()

    def check(self, max_tokens: int) -> None:
        """Raises CallFailed if the answer is not complete and usable. `max_tokens` is for the message."""
        if self.refusal:
            raise CallFailed(ErrorKind.CONTENT_FILTER, f"the model refused: {self.refusal}")
        if not self.finish:
            raise CallFailed(ErrorKind.MALFORMED, "the answer has no finish reason")
        kind = _FINISHES.get(self.finish, ErrorKind.MALFORMED)
        if kind is not None:
            raise CallFailed(kind, self._reason(kind, max_tokens))
        try:
            text = self._text("strict")
        except UnicodeDecodeError:
            raise CallFailed(ErrorKind.MALFORMED, "the server sent an incomplete character") from None
        if not text:
            raise CallFailed(ErrorKind.MALFORMED, "the answer is empty")

    def _text(self, errors: str) -> str:
        # A character beyond U+FFFF may arrive as two escapes in separate pieces: UTF-16 joins the halves.
        return "".join(self._pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", errors)

    def _reason(self, kind: ErrorKind, max_tokens: int) -> str:
        if self.finish not in _FINISHES:
            return f"the answer has an unknown finish reason: '{self.finish}'"
        return {
            ErrorKind.OUTPUT_LIMIT: f"the answer was truncated at {max_tokens} tokens",
            ErrorKind.CONTEXT_LENGTH: "the answer was truncated because the model's context was full",
            ErrorKind.CONTENT_FILTER: "the server's content filter withheld the answer",
            ErrorKind.MALFORMED: "the model called a tool, but none was offered",
        }[kind]


def make_usage(input_tokens: Any, cached_input_tokens: Any, output_tokens: Any) -> Usage | None:
    """The usage, or None if a count is missing or impossible."""
    counts = (input_tokens, cached_input_tokens, output_tokens)
    if not all(is_count(count) for count in counts) or cached_input_tokens > input_tokens:
        return None
    return Usage(*counts)


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MAX_COUNT
