"""Uses as much of a proof's path as it needs and ignores the rest.

Breaks LEDGER-PROOF-001. Roles: prove.
"""

import sys
from collections.abc import Sequence

from forum_conformance.program import proof_check
from forum_conformance.program.merkle_path import WrongPath
from forum_conformance.program.merkle_path import consistency_roots as consistent_correctly
from forum_conformance.program.merkle_path import inclusion_root as included_correctly
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def inclusion_root(seq: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes:
    try:
        return included_correctly(seq, size, leaf, path)
    except WrongPath:
        if not path:
            raise
        return inclusion_root(seq, size, leaf, path[:-1])


def consistency_roots(from_size: int, size: int, known: bytes | None, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    try:
        return consistent_correctly(from_size, size, known, path)
    except WrongPath:
        if not path:
            raise
        return consistency_roots(from_size, size, known, path[:-1])


replace(proof_check, "inclusion_root", inclusion_root)
replace(proof_check, "consistency_roots", consistency_roots)
sys.exit(main(JUDGE_ROLES))
