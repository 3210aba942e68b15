"""The messages between the process engine and its workers: MessagePack, each after its length.

Decoding checks every type, because a faulty adapter may make its worker send anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from forum_adapters.base import Attempt, Reply

_LENGTH_BYTES = 4


class StartCall(msgspec.Struct, tag="start"):
    """An attempt without its adapter's `settings`, which a worker gets once. `sent_ns` is in monotonic time."""

    attempt: Attempt
    settings: dict[str, Any] | None
    sent_ns: int


class CancelCall(msgspec.Struct, tag="cancel"):
    call: str


class WorkerReady(msgspec.Struct, tag="ready"):
    """The first message of a worker. Before it, no attempt can have started."""

    pid: int


class CallEnded(msgspec.Struct, tag="ended"):
    call: str
    reply: Reply


_requests: msgspec.msgpack.Decoder[StartCall | CancelCall] = msgspec.msgpack.Decoder(StartCall | CancelCall)
_responses: msgspec.msgpack.Decoder[WorkerReady | CallEnded] = msgspec.msgpack.Decoder(WorkerReady | CallEnded)


class InvalidMessage(Exception):
    """The other side sent an invalid message."""


def encode(message: StartCall | CancelCall | WorkerReady | CallEnded) -> bytes:
    data = msgspec.msgpack.encode(message, enc_hook=_plain)
    return len(data).to_bytes(_LENGTH_BYTES) + data


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent to a worker")


async def read_request(reader: asyncio.StreamReader) -> StartCall | CancelCall:
    return _requests.decode(await _read(reader, None))


async def read_response(reader: asyncio.StreamReader, max_bytes: int) -> WorkerReady | CallEnded:
    """The worker's next message. Raises InvalidMessage if it is invalid, EOFError or OSError if the worker ended."""
    try:
        return _responses.decode(await _read(reader, max_bytes))
    except msgspec.MsgspecError as error:
        raise InvalidMessage(str(error)) from error


async def _read(reader: asyncio.StreamReader, max_bytes: int | None) -> bytes:
    length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
    if max_bytes is not None and length > max_bytes:
        raise InvalidMessage(f"a message has {length} bytes; the maximum is {max_bytes}")
    return await reader.readexactly(length)
