"""Compares run, time and seal with the previous line even if that line is not in canonical form.

Breaks LEDGER-ENTRY-003 in verify.
"""

import json
import sys

from forum_conformance import reading
from forum_conformance.chain import Chain
from forum_conformance.entry import Entry
from forum_conformance.entry import read_entry as read_correctly
from forum_conformance.finding import Finding
from forum_conformance.lines import Line
from forum_conformance.program.parts import replace
from forum_conformance.program.serving import JUDGE, main

look_correctly = Chain.look
untidy: dict[bytes, Entry] = {}


def read_entry(line: Line) -> Entry | Finding:
    found = read_correctly(line)
    if isinstance(found, Finding) and found.code == "L104":
        untidy[line.hash] = json.loads(line.content or b"")
    return found


def look(chain: Chain, number: int, line_hash: bytes, entry: Entry | None) -> None:
    look_correctly(chain, number, line_hash, entry)
    before = untidy.pop(line_hash, None)
    if before is not None:
        chain.run = chain.run or before["run"]
        chain._before = before
        chain._is_sealed = chain._is_sealed or before["kind"] == "run.sealed"


replace(reading, "read_entry", read_entry)
replace(Chain, "look", look)
sys.exit(main(JUDGE))
