"""Reads what a program wrote on its standard output."""

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from forum_conformance.canonical import refuse_constant
from forum_conformance.schemas import departure, schema
from forum_conformance.suite.difference import Difference, in_json

_SHOWN = 200


class BadAnswer(Exception):
    """Bytes that are no answer."""

    def __init__(self, place: str, expected: str, came: str) -> None:
        self.difference = Difference(place, expected, came)
        super().__init__(f"{place}: {came}")


def read_answer(data: bytes, *, id_: str, repeats_id: bool) -> dict[str, Any]:
    """The one JSON object, if it fits its schema and belongs to the request."""
    answer = _read(data)
    if problem := departure(_validator(), answer):
        raise BadAnswer("answer", "fits conformance-answer.schema.json", f"{problem}")
    told = answer.get("id")
    if told != id_ and (told is not None or repeats_id):
        raise BadAnswer("id", in_json(id_), in_json(told))
    return answer


def _read(data: bytes) -> dict[str, Any]:
    expected = "one JSON object in UTF-8"
    if not data.strip():
        raise BadAnswer("standard output", expected, "nothing")
    shown = data[:_SHOWN].decode("utf-8", "backslashreplace") + ("..." if len(data) > _SHOWN else "")
    try:
        read = json.loads(data.decode("utf-8"), object_pairs_hook=_each_once, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadAnswer("standard output", expected, f"{shown} ({error})") from error
    if not isinstance(read, dict):
        raise BadAnswer("standard output", expected, shown)
    return read


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key is given twice")
    return read


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema("conformance-answer.schema.json"))
