"""The Merkle tree of RFC 6962, section 2.1, built leaf by leaf."""

from __future__ import annotations

from hashlib import sha256

EMPTY_ROOT = sha256().digest()
_WAITING = 512


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


class MerkleTree:
    """Keeps the roots of the complete subtrees on the right edge: log n hashes, whatever the size.

    A few leaves wait to be taken in together, which is quicker than one by one.
    """

    __slots__ = ("_edge", "_waiting", "size")

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[bytes] = []
        # At each level, from the leaves up, the root of the subtree that has no right neighbour yet.
        self._edge: list[bytes | None] = []

    def add(self, leaf: bytes) -> None:
        """Adds a leaf hash."""
        self._waiting.append(leaf)
        self.size += 1
        if len(self._waiting) >= _WAITING:
            self._take_in()

    def add_all(self, leaves: list[bytes]) -> None:
        """Adds leaf hashes, in their order."""
        self._waiting += leaves
        self.size += len(leaves)
        if len(self._waiting) >= _WAITING:
            self._take_in()

    def root(self) -> bytes:
        self._take_in()
        root: bytes | None = None
        for left in self._edge:
            if left is not None:
                root = left if root is None else node_hash(left, root)
        return EMPTY_ROOT if root is None else root

    def _take_in(self) -> None:
        """Level by level, neighbours are joined; one that is left over waits there for its own."""
        nodes, self._waiting = self._waiting, []
        edge, level = self._edge, 0
        while nodes:
            if level == len(edge):
                edge.append(None)
            left = edge[level]
            if left is not None:
                nodes.insert(0, left)
            edge[level] = nodes.pop() if len(nodes) % 2 else None
            nodes = [sha256(b"\1" + left + right).digest() for left, right in zip(nodes[::2], nodes[1::2], strict=True)]
            level += 1
