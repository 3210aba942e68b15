"""The Merkle tree of RFC 6962, section 2.1, built leaf by leaf."""

import hashlib

EMPTY_ROOT = hashlib.sha256(b"").digest()


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """Keeps the roots of the full subtrees only: one for each bit that is set in the number of leaves."""

    def __init__(self) -> None:
        self.size = 0
        self._full: list[bytes] = []

    def add(self, leaf_hash: bytes) -> None:
        root = leaf_hash
        size = self.size
        while size & 1:
            root = node(self._full.pop(), root)
            size >>= 1
        self._full.append(root)
        self.size += 1

    def root(self) -> bytes:
        if not self._full:
            return EMPTY_ROOT
        *others, root = self._full
        for left in reversed(others):
            root = node(left, root)
        return root
