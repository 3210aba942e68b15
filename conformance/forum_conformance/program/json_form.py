"""The RFC 8785 form of a value, with replaceable parts: key order, number format, string format."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import rfc8785

Writer = Callable[[Any], bytes]


def _utf_16_key(key: str) -> bytes:
    """The sort key of a member: RFC 8785, section 3.2.3, orders members by the UTF-16 code units of their names."""
    return key.encode("utf-16-be", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Form:
    """A function that writes a value in its form."""

    sort_key: Callable[[str], Any] = _utf_16_key
    number: Writer = rfc8785.dumps
    string: Writer = rfc8785.dumps

    def __call__(self, value: Any) -> bytes:
        match value:
            case dict():
                members = (self.string(key) + b":" + self(value[key]) for key in sorted(value, key=self.sort_key))
                return b"{" + b",".join(members) + b"}"
            case list():
                return b"[" + b",".join(self(item) for item in value) + b"]"
            case bool() | None:
                return rfc8785.dumps(value)
            case str():
                return self.string(value)
            case _:
                return self.number(value)
