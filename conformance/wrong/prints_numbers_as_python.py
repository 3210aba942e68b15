"""Writes numbers as Python does: 1e-7 as 1e-07, 1e16 as 1e+16, and 1 as 1.0 if it had a fraction.

Breaks LEDGER-LINE-005. Roles: canonicalize.
"""

import sys
from typing import Any

from forum_conformance import canonical
from forum_conformance.program.json_form import Form
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def number(value: Any) -> bytes:
    return repr(value).encode()


replace(canonical, "form", Form(number=number))
sys.exit(main(JUDGE_ROLES))
