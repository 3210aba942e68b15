"""Reads a request and never answers.

Breaks the protocol. Roles: canonicalize, prove, verify.
"""

import sys
import time

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE_ROLES, main


def hang(_: Request) -> Answer:
    while True:
        time.sleep(60)


sys.exit(main(dict.fromkeys(JUDGE_ROLES, hang)))
