"""Accepts a line with any white space, escapes and order of keys.

Breaks LEDGER-LINE-005. Roles: verify.
"""

import json
import sys
from dataclasses import replace as with_

from forum_conformance import canonical, first_pass
from forum_conformance.entry import Entry
from forum_conformance.entry import read_entry as read_correctly
from forum_conformance.finding import Finding
from forum_conformance.lines import Line
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def read_entry(line: Line) -> Entry | Finding:
    result = read_correctly(line)
    if isinstance(result, Finding) and result.code == "L104":
        return read_correctly(with_(line, content=canonical.form(json.loads(line.content or b""))))
    return result


replace(first_pass, "read_entry", read_entry)
sys.exit(main(JUDGE_ROLES))
