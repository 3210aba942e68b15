"""RFC 8785 bytes of JSON values, and digests of bytes.

orjson encodes the values on which it agrees with RFC 8785; the reference implementation encodes all others.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

from forum_runner.errors import CanonicalError, DepthError

MAX_INTEGER = 2**53 - 1
# orjson's limit, for both encoders: which one is used must not decide whether a value can be encoded.
MAX_DEPTH = 254

_STRINGS_ONLY = {str}


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a value."""
    try:
        if _is_plain(value):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        import rfc8785

        return rfc8785.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise CanonicalError(f"value has no canonical form: {error}") from error


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def join_members(members: dict[str, bytes]) -> bytes:
    """The RFC 8785 bytes of an object whose members are already encoded. Keys must be ASCII."""
    return b"{" + b",".join(canonical(key) + b":" + members[key] for key in sorted(members)) + b"}"


def _is_plain(value: Any, remaining_depth: int = MAX_DEPTH) -> bool:
    """Whether orjson and RFC 8785 agree: no floats, integers in range, ASCII keys.

    orjson sorts keys by code point, RFC 8785 by UTF-16 code unit; floats differ in their exponents. Raises DepthError
    for a value that is nested too deeply or contains itself.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None or (kind is int and -MAX_INTEGER <= value <= MAX_INTEGER):
        return True
    if isinstance(value, dict):
        is_plain = kind is dict and _STRINGS_ONLY.issuperset(map(type, value)) and "".join(value).isascii()
        items: Iterable[Any] = value.values()
    elif isinstance(value, (list, tuple)):
        is_plain = kind is list
        items = value
    else:
        return False
    if not remaining_depth:
        raise DepthError(f"value has no canonical form: it is nested more than {MAX_DEPTH} levels deep")
    for item in items:
        if type(item) is not str and not _is_plain(item, remaining_depth - 1):
            is_plain = False
    return is_plain
