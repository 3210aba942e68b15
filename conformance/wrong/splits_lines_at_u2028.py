"""Ends a line at every Unicode line terminator, not only at LF.

Breaks LEDGER-LINE-001. Roles: prove, verify.
"""

import hashlib
import re
import sys
from collections.abc import Iterator

from forum_conformance.lines import MAX_LINE_BYTES, Line, Lines
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def iterate(lines: Lines) -> Iterator[Line]:
    *contents, rest = re.split("\n|\u2028|\u2029|\u0085".encode(), lines._stream.read())
    lines.torn_bytes = len(rest)
    for number, content in enumerate(contents):
        kept = content if len(content) <= MAX_LINE_BYTES else None
        yield Line(number, kept, hashlib.sha256(b"\0" + content).digest())


replace(Lines, "__iter__", iterate)
sys.exit(main(JUDGE_ROLES))
