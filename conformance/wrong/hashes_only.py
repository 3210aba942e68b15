"""Checks bytes and chain and skips the other levels.

Breaks LEDGER-VERIFY-001. Roles: verify.
"""

import sys
from dataclasses import replace as with_

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def verify(request: Request) -> Answer:
    return with_(JUDGE_ROLES["verify"]({**request, "levels": [1, 2]}), levels={})


sys.exit(main({**JUDGE_ROLES, "verify": verify}))
