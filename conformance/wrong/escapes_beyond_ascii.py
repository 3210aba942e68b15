r"""Escapes every non-ASCII character (\u20ac).

Breaks LEDGER-LINE-005. Roles: canonicalize, verify.
"""

import json
import sys
from typing import Any

from forum_conformance import canonical
from forum_conformance.program.json_form import Form
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def string(value: Any) -> bytes:
    return json.dumps(value).encode()


replace(canonical, "form", Form(string=string))
sys.exit(main(JUDGE_ROLES))
