"""The body of a response, read no further than it may go: what counts is its size after decompression."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator

import httpx

from forum_adapters.base import ErrorKind
from forum_adapters.models.failures import CallFailed, Unreadable

_PIECE_BYTES = 65_536
# Either of the two containers that HTTP knows: gzip, and the zlib one that it calls deflate.
_ANY_CONTAINER = zlib.MAX_WBITS | 32


async def read_pieces(response: httpx.Response, max_bytes: int) -> AsyncGenerator[bytes, None]:
    """Not httpx's own decompression: that lets a small piece become as large as it likes before anybody counts."""
    decoder = _decoder_of(response.headers.get("content-encoding", ""))
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
            raise Unreadable("the server sent what cannot be decompressed") from None


def _decoder_of(encoding: str) -> _Plain | _Compressed:
    if encoding.strip().lower() in ("", "identity"):
        return _Plain()
    if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
        return _Compressed()
    raise Unreadable(f"the server sent '{encoding}', an encoding that nobody asked for")
