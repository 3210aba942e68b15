"""The Merkle tree of RFC 6962, section 2.1, built leaf by leaf."""

import hashlib

EMPTY_ROOT = hashlib.sha256(b"").digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """Keeps only the roots of the complete subtrees: one for each bit that is set in the number of leaves."""

    def __init__(self) -> None:
        self.size = 0
        self._subtree_roots: list[bytes] = []

    def add(self, leaf_hash: bytes) -> None:
        root = leaf_hash
        size = self.size
        while size & 1:
            root = node_hash(self._subtree_roots.pop(), root)
            size >>= 1
        self._subtree_roots.append(root)
        self.size += 1

    def root(self) -> bytes:
        if not self._subtree_roots:
            return EMPTY_ROOT
        *left_roots, root = self._subtree_roots
        for left in reversed(left_roots):
            root = node_hash(left, root)
        return root
