"""The Merkle tree of RFC 6962, section 2.1, built leaf by leaf."""

from __future__ import annotations

from hashlib import sha256

EMPTY_ROOT = sha256().digest()
_WAITING = 64


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


class MerkleTree:
    """Keeps the roots of the complete subtrees on the right edge: log n hashes, whatever the size.

    A few leaves wait to be taken in together, which is quicker than one by one.
    """

    __slots__ = ("_edge", "_taken", "_waiting", "size")

    def __init__(self) -> None:
        self.size = 0
        self._taken = 0
        self._waiting: list[bytes] = []
        self._edge: list[bytes] = []

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
        if not self._edge:
            return EMPTY_ROOT
        root = self._edge[-1]
        for left in reversed(self._edge[:-1]):
            root = node_hash(left, root)
        return root

    def _take_in(self) -> None:
        """Every subtree that a leaf completes takes the place of its two halves."""
        edge = self._edge
        for number, leaf in enumerate(self._waiting, self._taken):
            node = leaf
            while number & 1:
                node = sha256(b"\1" + edge.pop() + node).digest()
                number >>= 1
            edge.append(node)
        self._taken = self.size
        self._waiting.clear()
