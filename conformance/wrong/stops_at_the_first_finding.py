"""Reports only the first finding in a ledger.

Breaks LEDGER-VERIFY-002. Roles: verify.
"""

import sys
from dataclasses import replace as with_

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def verify(request: Request) -> Answer:
    answer = JUDGE_ROLES["verify"](request)
    return with_(answer, codes=answer.codes[:1])


sys.exit(main({**JUDGE_ROLES, "verify": verify}))
