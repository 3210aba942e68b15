"""The role `canonicalize`: the RFC 8785 form of a JSON text."""

import json
import math
from pathlib import Path
from typing import Any

from forum_conformance import canonical
from forum_conformance.canonical import each_key_once
from forum_conformance.program.answer import Answer, Request
from forum_conformance.schemas import room_for_nesting


def canonicalize(request: Request) -> Answer:
    data = Path(request["input"]).read_bytes()
    try:
        with room_for_nesting():
            written = canonical.form(read_value(data.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return Answer("invalid", message=str(error))
    Path(request["output"]).write_bytes(written)
    return Answer("valid")


def read_value(text: str) -> Any:
    """The value of a JSON text, if it has a canonical form."""
    return json.loads(
        text,
        parse_int=read_integer,
        parse_float=read_float,
        parse_constant=canonical.refuse_constant,
        object_pairs_hook=each_key_once,
    )


def read_integer(digits: str) -> int:
    # Check the length first: Python refuses to parse very long integers, with another message.
    if len(digits) > 17 or abs(int(digits)) > canonical.MAX_INTEGER:
        raise ValueError("an integer is not within ±(2^53 - 1)")
    return int(digits)


def read_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is not finite as a double")
    return number
