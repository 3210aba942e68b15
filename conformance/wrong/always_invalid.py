"""Answers `invalid` to everything without checking.

Breaks LEDGER-VERIFY-003 in canonicalize, prove, verify.
"""

import sys

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE, main


def refuse(_: Request) -> Answer:
    return Answer("invalid")


sys.exit(main(dict.fromkeys(JUDGE, refuse)))
