"""Treats a seal like any other entry: it checks neither its presence nor its content.

Breaks LEDGER-SEAL-001. Roles: verify.
"""

import sys

from forum_conformance.entry import Entry
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main
from forum_conformance.seal import Seals

check_correctly, finish_correctly = Seals.check, Seals.finish


def check(seals: Seals, number: int, line_hash: bytes, _: Entry | None) -> None:
    check_correctly(seals, number, line_hash, None)


def finish(seals: Seals, *, ends_with_seal: bool, torn_bytes: int) -> None:
    finish_correctly(seals, ends_with_seal=ends_with_seal or seals.tree.size > 0, torn_bytes=torn_bytes)


replace(Seals, "check", check)
replace(Seals, "finish", finish)
sys.exit(main(JUDGE_ROLES))
