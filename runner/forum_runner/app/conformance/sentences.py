"""The findings behind an answer, as one sentence for whoever reads a failure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

_MAX_TOLD = 10


def with_message(told: dict[str, Any], sentences: Iterable[str]) -> dict[str, Any]:
    """What is told, and the first of the sentences, if there are any."""
    message = "; ".join(islice(sentences, _MAX_TOLD))
    return {**told, "message": message} if message else told
