"""Exits with an error before it answers.

Breaks the protocol. Roles: canonicalize, prove, verify.
"""

import sys

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def crash(_: Request) -> Answer:
    raise RuntimeError("this program crashes")


sys.exit(main(dict.fromkeys(JUDGE_ROLES, crash)))
