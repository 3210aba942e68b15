"""Counts the length of a text in UTF-16 code units, as JavaScript and Java do, not in characters.

Breaks LEDGER-ENTRY-001. Roles: verify.
"""

import sys
from collections.abc import Iterator
from typing import Any

from jsonschema import ValidationError

from forum_conformance import schemas
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def limit_length(_: Any, limit: int, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and len(instance.encode("utf-16-le")) > 2 * limit:
        yield ValidationError(f"{instance!r} is too long")


replace(schemas, "_Validator", schemas._extend(schemas._Validator, {"maxLength": limit_length}))
sys.exit(main(JUDGE_ROLES))
