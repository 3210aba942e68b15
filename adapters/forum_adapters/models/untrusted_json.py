"""Reads JSON from an untrusted source."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(data: bytes) -> Any:
    """Parses JSON. Raises ValueError if the data is not JSON in UTF-8 or is nested too deeply."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
