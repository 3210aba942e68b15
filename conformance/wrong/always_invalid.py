"""Answers `invalid` to everything without checking.

Breaks LEDGER-VERIFY-003. Roles: canonicalize, prove, verify.
"""

import sys

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def answer_invalid(_: Request) -> Answer:
    return Answer("invalid")


sys.exit(main(dict.fromkeys(JUDGE_ROLES, answer_invalid)))
