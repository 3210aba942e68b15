"""Treats the bytes after the last LF as one more line.

Breaks LEDGER-TORN-001. Roles: prove, verify.
"""

import io
import sys
from typing import BinaryIO

from forum_conformance.lines import Lines
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

init_correctly = Lines.__init__


def init(lines: Lines, stream: BinaryIO) -> None:
    content = stream.read()
    has_torn_tail = bool(content) and not content.endswith(b"\n")
    init_correctly(lines, io.BytesIO(content + b"\n" if has_torn_tail else content))


replace(Lines, "__init__", init)
sys.exit(main(JUDGE_ROLES))
