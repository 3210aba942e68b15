"""Reads a body that is to be in RFC 8785 form."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from forum_runner.canonical import canonical

# orjson reads an integer beyond 64 bits as a float, and would hide that it has no canonical form.
_LONG_NUMBER = re.compile(rb"[0-9]{17}")


def read_json(data: bytes) -> Any:
    """The value; a ValueError or CanonicalError if the bytes are not its RFC 8785 form."""
    value = json.loads(data.decode()) if _LONG_NUMBER.search(data) else orjson.loads(data)
    if canonical(value) != data:
        raise ValueError("it is not in RFC 8785 form")
    return value
