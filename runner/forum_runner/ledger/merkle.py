"""The Merkle tree of RFC 6962, section 2.1, built leaf by leaf."""

from __future__ import annotations

import hashlib

EMPTY_ROOT = hashlib.sha256().digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


class MerkleTree:
    """Keeps the roots of the complete subtrees on the right edge: log n hashes, whatever the size."""

    __slots__ = ("_edge", "size")

    def __init__(self) -> None:
        self.size = 0
        self._edge: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Adds a leaf hash. Every subtree that it completes takes the place of its two halves."""
        edge = self._edge
        count = self.size
        while count & 1:
            leaf = hashlib.sha256(b"\1" + edge.pop() + leaf).digest()
            count >>= 1
        edge.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        if not self._edge:
            return EMPTY_ROOT
        root = self._edge[-1]
        for left in reversed(self._edge[:-1]):
            root = node_hash(left, root)
        return root
