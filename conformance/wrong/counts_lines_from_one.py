"""Counts lines from 1, as an editor does, when it reports a bad line.

Breaks LEDGER-VERIFY-002. Roles: verify.
"""

import sys
from dataclasses import replace as with_

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def verify(request: Request) -> Answer:
    answer = JUDGE_ROLES["verify"](request)
    seq = answer.first_bad_seq
    return with_(answer, first_bad_seq=None if seq is None else seq + 1)


sys.exit(main({**JUDGE_ROLES, "verify": verify}))
