"""Resolves scalars by the YAML 1.2 core schema: `no` is a string, `1:30` is a string, `1e3` is a number."""

import math
import re
from typing import Any

from forum_runner.canonical import MAX_INTEGER

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("-+.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAG = "tag:yaml.org,2002:"
_CORE_TAGS = ("!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq")
_MAX_DIGITS = 20  # more than any integer in range has
_MAX_QUOTED_LENGTH = 20


class InexactNumber(ValueError):
    """A number that JSON cannot represent, or that JSON readers do not all read as the same value."""

    code = "F118"

    def __init__(self, text: str) -> None:
        number = text if len(text) <= _MAX_QUOTED_LENGTH else text[:_MAX_QUOTED_LENGTH] + "..."
        self.hint = "quote it to keep it as text"
        super().__init__(f"number {number} cannot be represented exactly in JSON")


class InvalidTag(ValueError):
    """A tag that is not supported, or that does not match its value."""

    code = "F117"

    def __init__(self, tag: str) -> None:
        name = "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
        is_known = name in _CORE_TAGS
        self.hint = None if is_known else f"supported tags: {', '.join(_CORE_TAGS)}"
        super().__init__(f"tag '{name}' does not match its value" if is_known else f"unsupported tag '{name}'")


def resolve_plain(text: str) -> Any:
    """The value of a scalar without quotes and without a tag. Raises InexactNumber."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text, 0)
    if _OCTAL_OR_HEX.fullmatch(text):
        return _integer(text, 8 if text[1] == "o" else 16)
    if _FLOAT.fullmatch(text):
        return _float(text)
    if _NOT_FINITE.fullmatch(text):
        raise InexactNumber(text)
    return text


def resolve_tagged(tag: str, text: str) -> Any:
    """The value of a scalar with a tag. Raises InvalidTag if the tag does not match the value, and InexactNumber."""
    if tag in ("!", _TAG + "str"):
        return text
    value = resolve_plain(text)
    matches = {
        _TAG + "null": value is None,
        _TAG + "bool": isinstance(value, bool),
        _TAG + "int": isinstance(value, int) and not isinstance(value, bool),
        _TAG + "float": isinstance(value, int | float) and not isinstance(value, bool),
    }
    if not matches.get(tag, False):
        raise InvalidTag(tag)
    return value


def _integer(text: str, base: int) -> int:
    digits = text[2:] if base else text.lstrip("-+")
    significant = digits.lstrip("0") or "0"
    # Do not convert very long digit strings: Python refuses them, and they are out of range anyway.
    if len(significant) > _MAX_DIGITS:
        raise InexactNumber(text)
    value = int(significant, base or 10)
    if text.startswith("-"):
        value = -value
    if abs(value) > MAX_INTEGER:
        raise InexactNumber(text)
    return value


def _float(text: str) -> int | float:
    """Returns a whole number as an integer, because JSON has only one number type."""
    value = float(text)
    mantissa = text.lower().partition("e")[0]
    has_underflowed = value == 0 and any(digit in "123456789" for digit in mantissa)
    if not math.isfinite(value) or has_underflowed:
        raise InexactNumber(text)
    if not value.is_integer():
        return value
    if abs(value) > MAX_INTEGER:
        raise InexactNumber(text)
    return int(value)
