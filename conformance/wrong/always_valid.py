"""Answers `valid` to everything without checking.

Breaks LEDGER-VERIFY-003. Roles: canonicalize, prove, verify.
"""

import sys

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def answer_valid(_: Request) -> Answer:
    return Answer("valid")


sys.exit(main(dict.fromkeys(JUDGE_ROLES, answer_valid)))
