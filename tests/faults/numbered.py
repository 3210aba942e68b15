"""Numbered entries: the number determines the content, so that tests can find it after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from forum_runner.ledger import Body

KIND = "x-numbered"


class Append(Protocol):
    def __call__(self, kind: str, data: Mapping[str, Any], *, bodies: Mapping[str, Body]) -> Any: ...


def data_of(number: int) -> dict[str, Any]:
    return {"n": number, "text": f"\u2028{number}\u0085\0"}


def content_of(number: int) -> dict[str, bytes]:
    """Return the contents of the bodies by name. Sizes vary, some fill whole tar blocks. Every fifth entry has none."""
    marker = b"<%d>" % number
    whole_blocks = marker + bytes(-len(marker) % 512 + 512 * (number % 3))
    plain = marker * (number * 7919 % 700) if number % 7 else whole_blocks
    return {"plain": plain, "secret": marker * (number % 40)} if number % 5 else {}


def bodies_of(number: int) -> dict[str, Body]:
    return {name: Body(data, is_sensitive=name == "secret") for name, data in content_of(number).items()}


def append_numbered(append: Append, number: int) -> Any:
    return append(KIND, data_of(number), bodies=bodies_of(number))
