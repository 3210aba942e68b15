"""Reads the body of a response up to a limit on its decompressed size."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator

import httpx

from forum_adapters.base import ErrorKind
from forum_adapters.models.failures import CallFailed, Unreadable

_PIECE_BYTES = 65_536
# Accept both compressed formats of HTTP: gzip, and zlib, which HTTP calls deflate.
_ANY_CONTAINER = zlib.MAX_WBITS | 32


async def read_body(response: httpx.Response, max_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yields the decompressed body in pieces. Raises CallFailed if it is longer than `max_bytes` or cannot be decoded.

    It does not use the decompression of httpx, which expands a small piece without limit before its size is known.
    """
    decoder = _make_decoder(response.headers.get("content-encoding", ""))
    count = 0
    async for raw in response.aiter_raw():
        for piece in decoder.pieces(raw):
            count += len(piece)
            if count > max_bytes:
                raise CallFailed(ErrorKind.OUTPUT_LIMIT, f"the server sent more than {max_bytes} bytes")
            yield piece


class _Plain:
    def pieces(self, raw: bytes) -> Iterator[bytes]:
        yield raw


class _Compressed:
    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(_ANY_CONTAINER)

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        try:
            while piece := self._decompressor.decompress(raw, _PIECE_BYTES):
                yield piece
                raw = self._decompressor.unconsumed_tail
        except zlib.error:
            raise Unreadable("the server sent data that cannot be decompressed") from None


def _make_decoder(encoding: str) -> _Plain | _Compressed:
    if encoding.strip().lower() in ("", "identity"):
        return _Plain()
    if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
        return _Compressed()
    raise Unreadable(f"the server used the encoding '{encoding}', which was not requested")
