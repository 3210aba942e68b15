"""Reads a body that is to be in RFC 8785 form."""

from __future__ import annotations

import json
from typing import Any

from forum_runner.canonical import canonical


def read_json(data: bytes) -> Any:
    """The value; a ValueError or CanonicalError if the bytes are not its RFC 8785 form.

    Not by orjson, which reads an integer beyond 64 bits as a float, and would hide that it has no canonical form.
    """
    value = json.loads(data.decode())
    if canonical(value) != data:
        raise ValueError("it is not in RFC 8785 form")
    return value
