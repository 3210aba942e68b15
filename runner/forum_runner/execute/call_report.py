"""The reports of an engine about a call."""

from __future__ import annotations

from msgspec import Struct

from forum_adapters.base import Reply


class Replied(Struct, frozen=True):
    """The call ended with this reply."""

    call: str
    reply: Reply


class Lost(Struct, frozen=True):
    """The outcome of the call is unknown; it may not have taken place."""

    call: str
