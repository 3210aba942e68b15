"""The interface of adapters: the attempts that they receive, and the replies that they return.

An attempt contains everything that one call needs. It can be pickled and sent to another process or machine. It
contains no credentials, only the names of the environment variables that contain them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct


class ErrorKind(StrEnum):
    """Why a call failed. The set is closed.

    Transient errors (`is_transient`) may go away without a change. `is_answer` means that an unusable answer arrived:
    repeating the call may give a better one.
    """

    TIMEOUT = "timeout"
    NETWORK = "network"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH = "auth"
    MODEL_UNAVAILABLE = "model_unavailable"
    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    INVALID_REQUEST = "invalid_request"
    MALFORMED = "malformed"
    SCHEMA_MISMATCH = "schema_mismatch"
    EXIT_STATUS = "exit_status"
    OUTPUT_LIMIT = "output_limit"
    TOOL_FAILURE = "tool_failure"
    CANCELLED = "cancelled"
    INTERNAL = "internal"

    @property
    def is_transient(self) -> bool:
        return self in _TRANSIENT_KINDS

    @property
    def is_answer(self) -> bool:
        return self in _ANSWER_KINDS

    @property
    def may_be_retried(self) -> bool:
        return self in _TRANSIENT_KINDS or self in _ANSWER_KINDS


_TRANSIENT_KINDS = frozenset(
    {
        ErrorKind.TIMEOUT,
        ErrorKind.NETWORK,
        ErrorKind.RATE_LIMITED,
        ErrorKind.MODEL_UNAVAILABLE,
        ErrorKind.EXIT_STATUS,
        ErrorKind.TOOL_FAILURE,
    }
)
_ANSWER_KINDS = frozenset({ErrorKind.MALFORMED, ErrorKind.SCHEMA_MISMATCH})


class Prompt(Struct, frozen=True):
    """The input of a call. A model gets `system` and `text`. A program is started as `argv` and reads `stdin`.

    `output_schema` is the JSON Schema of the answer; without one, the answer is text.
    """

    system: str = ""
    text: str = ""
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    output_schema: Any = None


class Limits(Struct, frozen=True):
    """The limits of a call, enforced while it runs. `max_tokens` is 0 for a plain program.

    If `is_final` is set, the timeout is the remaining time of a budget, so it includes the time to end the call.
    """

    timeout_ms: int
    max_output_bytes: int
    max_tokens: int = 0
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """Where a call runs: its workspace, and the environment variables and hosts that the policy allows."""

    workspace: str = "."
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


_DEFAULT_SITE = Site()


class Attempt(Struct, frozen=True):
    """One call for one task. `number` counts the attempts of the task, from 1.

    `check` is the index of the acceptance check, from 0; None if the call performs the task.
    """

    id: str
    run: str
    task: str
    number: int
    adapter: str
    settings: Mapping[str, Any]
    prompt: Prompt
    limits: Limits
    agent: str | None = None
    check: int | None = None
    site: Site = _DEFAULT_SITE


class Usage(Struct, frozen=True):
    """Token counts in one form for all providers. `input_tokens` includes `cached_input_tokens`."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed. `retry_after_ms` is the wait that a server asks for, if any."""

    kind: ErrorKind
    message: str = ""
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Executable:
    """The program that ran: its resolved path and the SHA-256 digest of its bytes, in lower-case hexadecimal."""

    path: str
    digest: str


class Reply(Struct, frozen=True):
    """The result of a call. With a failure, `content` is the part that arrived before it.

    Without `usage`, a call to a model is charged everything that was reserved for it, unless the server refused it.
    `exit_status` is negative for a signal.
    `model` and `finish` are copied from the server's response.
    """

    content: bytes = b""
    failure: Failure | None = None
    usage: Usage | None = None
    exit_status: int | None = None
    executable: Executable | None = None
    stderr: bytes = b""
    model: str = ""
    finish: str = ""


def is_valid_header_value(key: str) -> bool:
    """Whether a key can be sent in a header. The most common problem is a newline that was copied from a file."""
    return key.isascii() and key.isprintable() and " " not in key


@runtime_checkable
class Adapter(Protocol):
    """Makes the calls to one kind of model or program. Each adapter of the roster is created as `Type(name, settings)`.

    `answer` returns errors of the service or program as a `Failure` and does not raise them. It can be cancelled like
    any coroutine. It may then return the output so far with a `Failure` of the kind `cancelled`, and it leaves nothing
    running. `probe` returns the reason why calls would fail, or None if the service responds.
    """

    async def answer(self, attempt: Attempt) -> Reply: ...

    async def probe(self) -> str | None: ...

    async def close(self) -> None: ...


@runtime_checkable
class Predictable(Protocol):
    """An adapter that knows each reply, and its latency in milliseconds, without making a call."""

    def predict(self, attempt: Attempt) -> tuple[Reply, int]: ...
