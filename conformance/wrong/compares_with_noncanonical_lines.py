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
untidy: dict[bytes, Entry] = {}


def read_entry(line: Line) -> Entry | Finding:
    found = read_correctly(line)
    if isinstance(found, Finding) and found.code == "L104":
        untidy[line.hash] = json.loads(line.content or b"")
    return found


def check(chain: Chain, number: int, line_hash: bytes, entry: Entry | None) -> None:
    check_correctly(chain, number, line_hash, entry)
    before = untidy.pop(line_hash, None)
    if before is not None:
        chain.run = chain.run or before["run"]
        chain._before = before
        chain._is_sealed = chain._is_sealed or before["kind"] == "run.sealed"


replace(first_pass, "read_entry", read_entry)
replace(Chain, "check", check)
sys.exit(main(JUDGE))
