"""Hashes its own serialization of a line, not the bytes of the line.

Breaks LEDGER-LINE-006. Roles: prove, verify.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace as with_

from forum_conformance import canonical
from forum_conformance.lines import Line, Lines
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

iterate_correctly = Lines.__iter__


def iterate(lines: Lines) -> Iterator[Line]:
    for line in iterate_correctly(lines):
        try:
            written = canonical.form(json.loads(line.content or b""))
        except (ValueError, RecursionError):
            yield line
        else:
            yield with_(line, hash=hashlib.sha256(b"\0" + written).digest())


replace(Lines, "__iter__", iterate)
sys.exit(main(JUDGE_ROLES))
