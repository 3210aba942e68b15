"""Program output as readable text, with invalid UTF-8 escaped."""

import codecs
import json

_MAX_LENGTH = 200


def escape(data: bytes) -> str:
    """Decode the data, with bytes that are not UTF-8 as `<FF>`."""
    return data.decode("utf-8", "forum-escape-bytes")


def preview(data: bytes) -> str:
    """The beginning of the data."""
    return escape(data[:_MAX_LENGTH]) + ("..." if len(data) > _MAX_LENGTH else "")


def to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def json_preview(value: object) -> str:
    text = to_json(value)
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "..."


def why_not_json(error: ValueError | RecursionError) -> str:
    """Describe a JSON error; a syntax error without the parser's own wording, so that reports are stable."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        if error.msg == "Extra data":
            return f"extra data after the JSON value at character {error.pos}"
        return f"invalid JSON at character {error.pos}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


def _escape_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    escaped = "".join(f"<{byte:02X}>" for byte in error.object[error.start : error.end])
    return escaped, error.end


codecs.register_error("forum-escape-bytes", _escape_bytes)
