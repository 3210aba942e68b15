"""Compares the number of characters of a line, not of bytes, with the maximum length.

Breaks LEDGER-LINE-002. Roles: verify.
"""

import hashlib
import sys
from collections.abc import Iterator

from forum_conformance.lines import MAX_LINE_BYTES, Line, Lines
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def iterate(lines: Lines) -> Iterator[Line]:
    *contents, rest = lines._stream.read().split(b"\n")
    lines.torn_bytes = len(rest)
    for number, content in enumerate(contents):
        characters = len(content.decode("utf-8", "replace"))
        yield Line(number, content if characters <= MAX_LINE_BYTES else None, hashlib.sha256(b"\0" + content).digest())


replace(Lines, "__iter__", iterate)
sys.exit(main(JUDGE_ROLES))
