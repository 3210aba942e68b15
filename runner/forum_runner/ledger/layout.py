"""The format of a ledger: its limits, the hash of a line, and the names of the files in a run directory."""

from __future__ import annotations

import hashlib
from typing import Any

FORMAT = 1
MAX_LINE_BYTES = 65_535
MAX_DEPTH = 64
MAX_CAUSES = 1_000
ZERO_HASH = "0" * 64

LEDGER = "ledger.jsonl"
BODIES = "bodies.tar"
WAVE_PLAN = "wave-plan.json"
CHECKPOINT = "checkpoint"
OUTPUTS = "outputs"
TORN_TAILS = "torn"

# OpenSSL takes longer to create a hasher than to copy one.
_LEAF_HASHER = hashlib.sha256(b"\0")


def leaf_hash(line: bytes) -> bytes:
    """The hash of a line without its LF: the leaf hash of RFC 6962, and the `prev` of the next entry."""
    hasher = _LEAF_HASHER.copy()
    hasher.update(line)
    return hasher.digest()


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value has more than MAX_DEPTH levels of objects and arrays."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True
