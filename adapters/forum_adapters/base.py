"""What an adapter is given, and what it gives back.

An attempt is a value: it holds all that one call needs, can be pickled, and be carried out in another process or on
another machine. Credentials are not in it, only the names of the variables that hold them.

What is made for every call is a tuple with names: these are made several times as fast as frozen dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable


class ErrorKind(StrEnum):
    """Why a call failed: a closed set. `is_transient` ones may go away by themselves; after `is_answer` ones another
    answer to the same question may do."""

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
        return self in _TRANSIENT

    @property
    def is_answer(self) -> bool:
        return self in _ANSWERS

    @property
    def may_be_retried(self) -> bool:
        return self in _TRANSIENT or self in _ANSWERS


_TRANSIENT = frozenset(
    {
        ErrorKind.TIMEOUT,
        ErrorKind.NETWORK,
        ErrorKind.RATE_LIMITED,
        ErrorKind.MODEL_UNAVAILABLE,
        ErrorKind.EXIT_STATUS,
        ErrorKind.TOOL_FAILURE,
    }
)
_ANSWERS = frozenset({ErrorKind.MALFORMED, ErrorKind.SCHEMA_MISMATCH})


class Prompt(NamedTuple):
    """What is asked. A model gets `system` and `text`; a program is `argv`, and reads `stdin`.

    `output_schema` is the JSON Schema of the answer; without one the answer is text.
    """

    system: str = ""
    text: str = ""
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    output_schema: Any = None


class Limits(NamedTuple):
    """What the call may take at most. Each is enforced while it happens. `max_tokens` is 0 for a plain program.

    `is_final`: the time is all that a budget leaves. Whatever it takes to end the call is part of it.
    """

    timeout_ms: int
    max_output_bytes: int
    max_tokens: int = 0
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """Where the call takes place: the workspace, and what the policy allows there."""

    workspace: str = "."
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


_HERE = Site()


class Attempt(NamedTuple):
    """One call for one task. `check` is the number of the acceptance check that it makes; None: it does the work."""

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
    site: Site = _HERE


class Usage(NamedTuple):
    """One shape for all providers: `input_tokens` counts cached ones too, `cached_input_tokens` says how many."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    kind: ErrorKind
    message: str = ""
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Executable:
    """The program that ran: its path with all links followed, and the SHA-256 of its bytes."""

    path: str
    digest: str


class Reply(NamedTuple):
    """How a call ended. `content` is what came, whole or, with a failure, as far as it came.

    Without `usage` nobody counted, and the call is charged all that was reserved for it. `exit_status` is negative for
    a signal. `model` and `finish` are the server's own words.
    """

    content: bytes = b""
    failure: Failure | None = None
    usage: Usage | None = None
    exit_status: int | None = None
    executable: Executable | None = None
    stderr: bytes = b""
    model: str = ""
    finish: str = ""


def fits_a_header(key: str) -> bool:
    """Whether a key can be sent. A line end, as a file has at its end, is the most common reason why not."""
    return key.isascii() and key.isprintable() and " " not in key


@runtime_checkable
class Adapter(Protocol):
    """A connection, made once for each adapter of the roster by its type: `Type(name, settings)`.

    `answer` never raises for what the other side did: that is a `Failure`. It is cancelled like any coroutine, may then
    still tell what came until then (a `Failure` of the kind `cancelled`), and leaves nothing running behind. `probe`
    says why calls would fail, or None if the other side answers.
    """

    async def answer(self, attempt: Attempt) -> Reply: ...

    async def probe(self) -> str | None: ...

    async def close(self) -> None: ...


@runtime_checkable
class Predictable(Protocol):
    """An adapter that knows its answers, and how many milliseconds each takes, without asking anybody."""

    def predict(self, attempt: Attempt) -> tuple[Reply, int]: ...
