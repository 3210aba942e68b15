"""Checks every level except the bodies.

Breaks LEDGER-BODY-001. Roles: verify.
"""

import sys
from dataclasses import replace as with_

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def verify(request: Request) -> Answer:
    levels = [level for level in request.get("levels", range(1, 6)) if level != 3]
    return with_(JUDGE_ROLES["verify"]({**request, "levels": levels}), levels={})


sys.exit(main({**JUDGE_ROLES, "verify": verify}))
