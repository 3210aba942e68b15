"""Exits with an error before it answers.

Breaks the protocol in canonicalize, prove, verify.
"""

import sys

from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.serve import JUDGE, main


def crash(_: Request) -> Answer:
    raise RuntimeError("this program crashes")


sys.exit(main(dict.fromkeys(JUDGE, crash)))
