"""Run ids: UUIDs of version 7 (RFC 9562), which sort by creation time."""

from __future__ import annotations

import uuid

_RANDOM_BITS = 80


def new_run_id(now_us: int, random: bytes) -> str:
    """A run id for a time in microseconds and ten random bytes."""
    bits = (now_us // 1_000) << _RANDOM_BITS | int.from_bytes(random[: _RANDOM_BITS // 8])
    # The version, 7, and the variant of RFC 9562 replace six of the random bits.
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=bits & (1 << 128) - 1))
