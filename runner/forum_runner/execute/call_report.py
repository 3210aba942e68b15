"""What an engine reports about a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from forum_adapters.base import Reply


class Replied(NamedTuple):
    """The call ended with this reply."""

    call: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class Lost:
    """The outcome of the call is unknown; it may not have taken place."""

    call: str
