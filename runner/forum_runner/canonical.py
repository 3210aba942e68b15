"""RFC 8785 bytes of a JSON value, and the digests that are taken of them.

orjson writes what it is known to write as RFC 8785 asks; everything else goes to the reference implementation.
"""

import hashlib
from typing import Any

import orjson

from forum_runner.errors import CanonicalError

MAX_INTEGER = 2**53 - 1


def canonical(value: Any) -> bytes:
    try:
        if _is_plain(value):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        return _by_the_reference(value)
    except (orjson.JSONEncodeError, UnicodeEncodeError, RecursionError) as error:
        raise CanonicalError(f"value has no canonical form: {error}") from error


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def join_members(members: dict[str, bytes]) -> bytes:
    """The RFC 8785 bytes of an object whose members have been written already. Keys must be ASCII."""
    return b"{" + b",".join(canonical(key) + b":" + members[key] for key in sorted(members)) + b"}"


def _is_plain(value: Any) -> bool:
    """Whether orjson and RFC 8785 agree: no floats, integers in range, ASCII keys.

    orjson sorts keys by code point, RFC 8785 by UTF-16 code unit; floats differ in their exponents.
    """
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is dict:
            if not all(type(key) is str for key in item) or not "".join(item).isascii():
                return False
            waiting.extend(item.values())
        elif kind is list:
            waiting.extend(item)
        elif kind is not int or not -MAX_INTEGER <= item <= MAX_INTEGER:
            return False
    return True


def _by_the_reference(value: Any) -> bytes:
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise CanonicalError(f"value has no canonical form: {error}") from error
