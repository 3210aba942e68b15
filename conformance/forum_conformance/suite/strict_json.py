"""Parse JSON strictly, without the extensions of Python's parser."""

import json
from typing import Any

from forum_conformance.canonical import refuse_constant, reject_repeated_keys


def read_json(data: bytes) -> Any:
    """One value in UTF-8. Raises ValueError for any fault, including excessive nesting."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=reject_repeated_keys, parse_constant=refuse_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
