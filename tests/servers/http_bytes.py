"""Handwritten HTTP/1.1 messages, well-formed or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """A received request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one request. Return None if the client disconnected."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(method, path, headers, body)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unnamed"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


def response(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    all_headers = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    return head(status, all_headers) + body


def json_response(status: int, document: Any, headers: Mapping[str, str] | None = None) -> bytes:
    return response(status, json.dumps(document).encode(), headers)


def stream_head(headers: Mapping[str, str] | None = None) -> bytes:
    return head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **(headers or {})})


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


END_OF_CHUNKS = b"0\r\n\r\n"


def chunked(pieces: Iterable[bytes]) -> list[bytes]:
    return [stream_head(), *(chunk(piece) for piece in pieces), END_OF_CHUNKS]
