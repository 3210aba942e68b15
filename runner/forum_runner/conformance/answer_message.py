"""The message of an answer."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

_MAX_SENTENCES = 10


def with_message(document: dict[str, Any], sentences: Iterable[str]) -> dict[str, Any]:
    """The answer with the first of the sentences, if there are any."""
    message = "; ".join(islice(sentences, _MAX_SENTENCES))
    return {**document, "message": message} if message else document
