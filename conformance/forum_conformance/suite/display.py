"""Bytes of a program as unambiguous text."""

import codecs
import json

_LONGEST = 200


def text_of(data: bytes) -> str:
    """Bytes that are not UTF-8 are escaped."""
    return data.decode("utf-8", "forum-named-bytes")


def shown(data: bytes) -> str:
    """The beginning of the data."""
    return text_of(data[:_LONGEST]) + ("..." if len(data) > _LONGEST else "")


def in_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def cut_json(value: object) -> str:
    text = in_json(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def why_not_json(error: ValueError | RecursionError) -> str:
    """In words that do not depend on the parser."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        if error.msg == "Extra data":
            return f"text follows the JSON value, from character {error.pos}"
        return f"not JSON, from character {error.pos}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


def _named_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    named = "".join(f"<{byte:02X}>" for byte in error.object[error.start : error.end])
    return named, error.end


codecs.register_error("forum-named-bytes", _named_bytes)
