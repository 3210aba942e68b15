"""Parses replies into outputs: strictly, with one repair, and against the task's schema."""

from __future__ import annotations

import re
from codecs import utf_8_decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from forum_adapters.base import ErrorKind, Failure
from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError, DepthError
from forum_runner.json_text import read_json_text
from forum_runner.ledger.body import JSON, TEXT, Body
from forum_runner.manifest.pointer import join, look_up

# Models often write the whole answer in one Markdown fence. Removing it is the only repair.
_FENCED = re.compile(r"\s*```[A-Za-z]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_MAX_KEYWORD_CHARACTERS = 200
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReplyFailure(Failure):
    """A reply that the runner itself rejects. `code` names the rule, and is recorded (RUN-READ-007)."""

    code: str = ""


class Schemas:
    """The JSON Schemas of a wave plan, by digest. Validators are built at first use."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._validator = cache(lambda digest: jsonschema_rs.Draft202012Validator(schemas[digest], offline=True))

    def fits(self, digest: str, value: Any) -> bool:
        return self._validator(digest).is_valid(value)

    def mismatch(self, digest: str, value: Any) -> str | None:
        """A message with the place where the value violates its schema, and the keyword; None if the value matches.

        The message is recorded, so it does not use the library's wording, which may change.
        """
        validator = self._validator(digest)
        if validator.is_valid(value):
            return None
        where, keyword, path = min(
            (join(map(str, error.instance_path)), str(error.schema_path[-1]) if error.schema_path else "false",
             [str(step) for step in error.schema_path])
            for error in validator.iter_errors(value)
        )  # fmt: skip
        expected = _keyword_value(self._schemas[digest], path)
        rule = f"'{keyword}'" if expected is None else f"'{keyword}': {expected}"
        return f"the value at '{where}' does not satisfy {rule}" if where else f"the value does not satisfy {rule}"


def _keyword_value(schema: Any, path: list[str]) -> str | None:
    """The value of the keyword at a path, in RFC 8785 form; None if it is long or not found. Follows references."""
    value = schema
    for step in path:
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return None
        if step == "$ref" and isinstance(value, str):
            try:
                value = look_up(schema, unquote(value.removeprefix("#")))
            except KeyError:
                return None
    written = canonical(value).decode()
    return written if len(written) <= _MAX_KEYWORD_CHARACTERS else None


def read_text(content: bytes, *, is_sensitive: bool) -> Body | ReplyFailure:
    """The output of a task without an `output` schema: text. A failure if it is not UTF-8."""
    if not content.isascii():
        position = _first_invalid_byte(content)
        if position is not None:
            return _malformed("not_utf8", f"the answer is not valid UTF-8 at byte {position}")
    return Body(content, TEXT, is_sensitive)


def _first_invalid_byte(content: bytes) -> int | None:
    """The position of the first byte that is not UTF-8, or None. Decodes in pieces, to keep memory low."""
    view, start = memoryview(content), 0
    while start < len(view):
        piece = view[start : start + _PIECE_BYTES]
        is_last = start + len(piece) == len(view)
        try:
            # Leave an incomplete character at the end to the next piece.
            start += utf_8_decode(piece, "strict", is_last)[1]
        except UnicodeDecodeError as error:
            return start + error.start
    return None


def read_structured(content: bytes, schemas: Schemas, digest: str, *, is_sensitive: bool) -> Body | ReplyFailure:
    """The output of a task with an `output` schema: one JSON value, in RFC 8785 form. A failure if it is invalid."""
    parsed = parse(content)
    if isinstance(parsed, ReplyFailure):
        return parsed
    value, data = parsed
    mismatch = schemas.mismatch(digest, value)
    if mismatch is not None:
        message = f"the answer does not match the output schema: {mismatch}"
        return ReplyFailure(ErrorKind.SCHEMA_MISMATCH, message, code="schema")
    return Body(data, JSON, is_sensitive)


def parse(content: bytes) -> tuple[Any, bytes] | ReplyFailure:
    """The value of an answer and its RFC 8785 form; a failure if the answer is not one JSON value with such a form."""
    try:
        text = content.decode()
        fenced = _FENCED.fullmatch(text)
        value = read_json_text(fenced[1] if fenced else text)
        # Frees the text before the canonical form is made, to keep memory low.
        del text, fenced
        return value, canonical(value)
    except UnicodeDecodeError as error:
        return _malformed("not_utf8", f"the answer is not valid UTF-8 at byte {error.start}")
    except (DepthError, RecursionError):
        return _malformed("too_deep", "the answer is nested too deeply")
    except CanonicalError:
        return _malformed("not_canonical", "the answer contains a number or a string that has no canonical form")
    except ValueError:
        return _malformed("not_json", "the answer is not a single JSON value, or it repeats a key")


def _malformed(code: str, message: str) -> ReplyFailure:
    return ReplyFailure(ErrorKind.MALFORMED, message, code=code)
