"""Does not check the length of texts and lists, or the number of bodies of an entry.

Breaks LEDGER-ENTRY-001. Roles: verify.
"""

import sys
from collections.abc import Iterator
from typing import Any

from jsonschema import ValidationError

from forum_conformance import schemas
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

LENGTHS = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")


def accept_any(_: Any, __: Any, ___: Any, ____: Any) -> Iterator[ValidationError]:
    return iter(())


replace(schemas, "_Validator", schemas._extend(schemas._Validator, dict.fromkeys(LENGTHS, accept_any)))
sys.exit(main(JUDGE_ROLES))
