"""The role `canonicalize`: a JSON text in its RFC 8785 form, or a refusal."""

from __future__ import annotations

import json
from typing import Any

from forum_runner.app.conforming.files import read_bytes
from forum_runner.app.conforming.request import Request
from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.write_file import write_file


def canonicalize(request: Request) -> dict[str, Any]:
    output = request.path("output")
    try:
        data = canonical(_strict(read_bytes(request.path("input"))))
    except (ValueError, RecursionError, CanonicalError) as error:
        return {"verdict": "invalid", "message": str(error)}
    write_file(output, data)
    return {"verdict": "valid"}


def _strict(data: bytes) -> Any:
    """As RFC 8259 has it: Python's parser would take NaN and Infinity, and the last of two equal keys."""
    return json.loads(data.decode(), object_pairs_hook=_without_repeats, parse_constant=_refuse)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
