"""Silently takes the last of two members with the same name, as most parsers do.

Breaks LEDGER-LINE-005. Roles: canonicalize, verify.
"""

import json
import sys
from dataclasses import replace as with_
from typing import Any

from forum_conformance import canonical, first_pass
from forum_conformance.entry import Entry
from forum_conformance.entry import read_entry as read_correctly
from forum_conformance.finding import Finding
from forum_conformance.lines import Line
from forum_conformance.program import canonicalize
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def read_entry(line: Line) -> Entry | Finding:
    result = read_correctly(line)
    if isinstance(result, Finding) and result.code == "L104" and has_duplicates(line.content or b""):
        return read_correctly(with_(line, content=canonical.form(json.loads(line.content or b""))))
    return result


def has_duplicates(content: bytes) -> bool:
    try:
        json.loads(content, object_pairs_hook=canonical.reject_repeated_keys)
    except ValueError:
        return True
    return False


def last_of_each_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(pairs)


replace(first_pass, "read_entry", read_entry)
replace(canonicalize, "reject_repeated_keys", last_of_each_key)
sys.exit(main(JUDGE_ROLES))
