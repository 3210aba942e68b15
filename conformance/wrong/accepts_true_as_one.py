"""Compares values as Python does: `true` equals 1 and is an integer.

Breaks LEDGER-ENTRY-001. Roles: verify.
"""

import sys
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from forum_conformance import schemas
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def check_const(_: Any, expected: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if instance != expected:
        yield ValidationError(f"{instance!r} is not {expected!r}")


def is_integer(_: Any, instance: Any) -> bool:
    return isinstance(instance, int)


types = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
replace(schemas, "_Validator", schemas._extend(schemas._Validator, {"const": check_const}, type_checker=types))
sys.exit(main(JUDGE_ROLES))
