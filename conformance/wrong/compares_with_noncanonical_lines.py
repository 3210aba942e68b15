"""Compares run, time and seal with the previous line even if that line is not in canonical form.

Breaks LEDGER-ENTRY-003 in verify.
"""

import json
import sys

from forum_conformance import first_pass
from forum_conformance.chain import Chain
from forum_conformance.entry import Entry
from forum_conformance.entry import read_entry as read_correctly
from forum_conformance.finding import Finding
from forum_conformance.lines import Line
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE, main

check_correctly = Chain.check
noncanonical_entries: dict[bytes, Entry] = {}


def read_entry(line: Line) -> Entry | Finding:
    result = read_correctly(line)
    if isinstance(result, Finding) and result.code == "L104":
        noncanonical_entries[line.hash] = json.loads(line.content or b"")
    return result


def check(chain: Chain, number: int, line_hash: bytes, entry: Entry | None) -> None:
    check_correctly(chain, number, line_hash, entry)
    entry_before = noncanonical_entries.pop(line_hash, None)
    if entry_before is not None:
        chain.run = chain.run or entry_before["run"]
        chain._before = entry_before
        chain._is_sealed = chain._is_sealed or entry_before["kind"] == "run.sealed"


replace(first_pass, "read_entry", read_entry)
replace(Chain, "check", check)
sys.exit(main(JUDGE))
