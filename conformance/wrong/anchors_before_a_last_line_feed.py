"""Interprets `$` in a pattern as Python does: it also matches before a final line feed.

Breaks LEDGER-ENTRY-001. Roles: verify.
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

from jsonschema import ValidationError

from forum_conformance import schemas
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def match_pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not re.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


replace(schemas, "_Validator", schemas._extend(schemas._Validator, {"pattern": match_pattern}))
sys.exit(main(JUDGE_ROLES))
