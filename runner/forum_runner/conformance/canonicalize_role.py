"""The role `canonicalize`: a JSON text in its RFC 8785 form, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.conformance.suite_request import SuiteRequest
from forum_runner.errors import CanonicalError, UsageError
from forum_runner.json_text import read_json_text
from forum_runner.write_file import write_file


def canonicalize(request: SuiteRequest) -> dict[str, Any]:
    output = request.path("output")
    try:
        data = canonical(read_json_text(_bytes_at(request.path("input")).decode()))
    except (ValueError, RecursionError, CanonicalError) as error:
        return {"verdict": "invalid", "message": str(error)}
    write_file(output, data)
    return {"verdict": "valid"}


def _bytes_at(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
