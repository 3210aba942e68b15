"""The Merkle tree of RFC 6962, section 2.1, built leaf by leaf."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

EMPTY_ROOT = sha256().digest()
_BATCH_LEAVES = 512
# OpenSSL takes longer to create a hasher than to copy one.
_NODE_HASHER = sha256(b"\1")


def node_hash(left: bytes, right: bytes) -> bytes:
    hasher = _NODE_HASHER.copy()
    hasher.update(left + right)
    return hasher.digest()


class MerkleTree:
    """Keeps the roots of the complete subtrees on the right edge: log n hashes for n leaves.

    Leaves are merged in batches, which is faster than one by one.
    """

    __slots__ = ("_edge", "_pending", "size")

    def __init__(self) -> None:
        self.size = 0
        self._pending: list[bytes] = []
        # For each level, from the leaves up: the root of the subtree that has no right sibling yet.
        self._edge: list[bytes | None] = []

    def add(self, leaf: bytes) -> None:
        """Adds a leaf hash."""
        self._pending.append(leaf)
        self.size += 1
        if self.size % _BATCH_LEAVES == 0:
            self._merge()

    def add_all(self, leaves: Sequence[bytes]) -> None:
        """Adds leaf hashes in order."""
        self._pending += leaves
        self.size += len(leaves)
        if len(self._pending) >= _BATCH_LEAVES:
            self._merge()

    def root(self) -> bytes:
        self._merge()
        root: bytes | None = None
        for left in self._edge:
            if left is not None:
                root = left if root is None else node_hash(left, root)
        return EMPTY_ROOT if root is None else root

    def _merge(self) -> None:
        """Joins siblings level by level. A node without a sibling waits on the edge for the next batch."""
        nodes, self._pending = self._pending, []
        edge, level = self._edge, 0
        while nodes:
            if level == len(edge):
                edge.append(None)
            left = edge[level]
            if left is not None:
                nodes.insert(0, left)
            edge[level] = nodes.pop() if len(nodes) % 2 else None
            nodes = list(map(node_hash, nodes[::2], nodes[1::2]))
            level += 1
