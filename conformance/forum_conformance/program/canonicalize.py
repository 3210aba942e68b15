"""The role `canonicalize`: the RFC 8785 form of a JSON text."""

import json
import math
from pathlib import Path
from typing import Any

from forum_conformance import canonical
from forum_conformance.canonical import reject_repeated_keys
from forum_conformance.program.answer import Answer, Request
from forum_conformance.schemas import raised_recursion_limit

_MAX_SHOWN_DIGITS = 40


def canonicalize(request: Request) -> Answer:
    data = Path(request["input"]).read_bytes()
    try:
        with raised_recursion_limit():
            form = canonical.form(read_value(data.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return Answer("invalid", message=str(error))
    Path(request["output"]).write_bytes(form)
    return Answer("valid")


def read_value(text: str) -> Any:
    """The value of a JSON text. Raises ValueError if it has no canonical form."""
    return json.loads(
        text,
        parse_int=read_integer,
        parse_float=read_float,
        parse_constant=canonical.refuse_constant,
        object_pairs_hook=reject_repeated_keys,
    )


def read_integer(digits: str) -> int:
    if len(digits) > canonical.MAX_INTEGER_LENGTH or abs(int(digits)) > canonical.MAX_INTEGER:
        raise ValueError("an integer is not within ±(2^53 - 1)")
    return int(digits)


def read_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:_MAX_SHOWN_DIGITS]} is not finite as a double")
    return number
