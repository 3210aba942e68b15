"""A process that carries out attempts: pickled, they come in by standard input, and their replies go out as they came.

It is started anew, not forked: what an attempt needs and does not hold is not there. Each attempt that takes place is
written to a journal, which its first argument names.
"""

import asyncio
import pickle
import sys
from pathlib import Path
from typing import BinaryIO

from forum_adapters.base import Attempt, Reply
from forum_adapters.registry import make_adapter

BEGUN = b"!"
_LENGTH_BYTES = 8


def frame(data: bytes) -> bytes:
    """With its length before it."""
    return len(data).to_bytes(_LENGTH_BYTES) + data


def read_frame(stream: BinaryIO) -> bytes | None:
    """None at the end of the stream."""
    length = stream.read(_LENGTH_BYTES)
    return stream.read(int.from_bytes(length)) if len(length) == _LENGTH_BYTES else None


async def carry_out(attempt: Attempt) -> Reply:
    adapter = make_adapter(attempt.adapter or "check", attempt.settings)
    try:
        return await adapter.answer(attempt)
    finally:
        await adapter.close()


def main() -> None:
    journal = Path(sys.argv[1])
    out = sys.stdout.buffer
    while (data := read_frame(sys.stdin.buffer)) is not None:
        attempt = pickle.loads(data)  # noqa: S301 - it comes from the process that started this one
        with journal.open("a", encoding="utf-8") as lines:
            lines.write(f"{attempt.id}\n")
        out.write(frame(BEGUN))
        out.flush()
        out.write(frame(pickle.dumps(asyncio.run(carry_out(attempt)))))
        out.flush()


if __name__ == "__main__":
    main()
