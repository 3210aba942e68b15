"""Accepts a checkpoint without checking who signed it.

Breaks LEDGER-CHECKPOINT-003. Roles: prove, verify.
"""

import sys

from forum_conformance import note
from forum_conformance.note import PublicKey, Signature
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def is_signed(_: bytes, __: tuple[Signature, ...], ___: PublicKey) -> bool:
    return True


replace(note, "is_signed", is_signed)
sys.exit(main(JUDGE_ROLES))
