"""The messages between the process engine and its workers: MessagePack, each after its length.

Decoding checks every type, because a faulty adapter may make its worker send anything.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import msgspec

from forum_adapters.base import Attempt, Reply

_LENGTH_BYTES = 4


class StartCall(msgspec.Struct, tag="start"):
    """An attempt without its adapter's `settings`, which a worker gets once. `sent_ns` is in monotonic time.

    The reply has the same `token`. It is random, so a message that the adapter of an earlier call sends is not mistaken
    for the reply.
    """

    token: bytes
    attempt: Attempt
    settings: dict[str, Any] | None
    sent_ns: int


class CancelCall(msgspec.Struct, tag="cancel"):
    call: str


class WorkerReady(msgspec.Struct, tag="ready"):
    """The first message of a worker. Before it, no attempt can have started."""

    pid: int


class CallEnded(msgspec.Struct, tag="ended"):
    token: bytes
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
    length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
    return _requests.decode(await reader.readexactly(length))


async def receive_response(channel: socket.socket, max_bytes: int) -> WorkerReady | CallEnded:
    """The worker's next message. Raises InvalidMessage if it is invalid, EOFError or OSError if the worker ended.

    It receives no more than this message, so everything that the worker sends after it stays in the socket.
    """
    length = int.from_bytes(await _receive(channel, _LENGTH_BYTES))
    if length > max_bytes:
        raise InvalidMessage(f"a message has {length} bytes; the maximum is {max_bytes}")
    try:
        return _responses.decode(await _receive(channel, length))
    except msgspec.MsgspecError as error:
        raise InvalidMessage(str(error)) from error


async def _receive(channel: socket.socket, size: int) -> bytearray:
    loop = asyncio.get_running_loop()
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = await loop.sock_recv_into(channel, rest)
        if count == 0:
            raise EOFError
        rest = rest[count:]
    return data
