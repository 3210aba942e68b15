"""Compares run, time and seal with the previous line even if that line is not in canonical form.

Breaks LEDGER-ENTRY-003. Roles: verify.
"""

import json
import sys

from forum_conformance import first_pass
from forum_conformance.chain import ChainChecker
from forum_conformance.entry import Entry
from forum_conformance.entry import read_entry as read_correctly
from forum_conformance.finding import Finding
from forum_conformance.lines import Line
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

check_correctly = ChainChecker.check
noncanonical_entries: dict[bytes, Entry] = {}


def read_entry(line: Line) -> Entry | Finding:
    result = read_correctly(line)
    if isinstance(result, Finding) and result.code == "L104":
        noncanonical_entries[line.hash] = json.loads(line.content or b"")
    return result


def check(chain: ChainChecker, number: int, line_hash: bytes, entry: Entry | None) -> None:
    check_correctly(chain, number, line_hash, entry)
    previous_entry = noncanonical_entries.pop(line_hash, None)
    if previous_entry is not None:
        chain.run = chain.run or previous_entry["run"]
        chain._previous = previous_entry
        chain._is_sealed = chain._is_sealed or previous_entry["kind"] == "run.sealed"


replace(first_pass, "read_entry", read_entry)
replace(ChainChecker, "check", check)
sys.exit(main(JUDGE_ROLES))
