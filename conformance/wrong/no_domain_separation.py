"""Hashes the nodes of the Merkle tree without the byte that distinguishes them from leaves.

Breaks LEDGER-TREE-001. Roles: prove, verify.
"""

import hashlib
import sys

from forum_conformance import merkle
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(left + right).digest()


replace(merkle, "node_hash", node_hash)
sys.exit(main(JUDGE_ROLES))
