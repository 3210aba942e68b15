"""Paths in the Merkle tree of RFC 6962: built in one pass over the leaves, and checked as in RFC 9162."""

from __future__ import annotations

from collections.abc import Sequence

from forum_runner.ledger.merkle import EMPTY_ROOT, MerkleTree, node_hash


class InclusionPath:
    """The path of RFC 6962, section 2.1.1, from a leaf to the root of all added leaves.

    With a `level`, the path starts at the complete subtree of 2^level leaves that contains the leaf.

    Each leaf outside the subtree belongs to one sibling on the path. The highest bit in which the indexes of the two
    leaves differ selects the sibling. This keeps log n hashes, and the number of leaves need not be known in advance.
    """

    def __init__(self, index: int, level: int = 0) -> None:
        self._index = index
        self._level = level
        self._siblings: list[MerkleTree] = []
        self._subtree = MerkleTree()
        self._size = 0

    def add(self, leaf: bytes) -> None:
        number = (self._size ^ self._index).bit_length() - 1 - self._level
        self._size += 1
        if number < 0:
            self._subtree.add(leaf)
            return
        while len(self._siblings) <= number:
            self._siblings.append(MerkleTree())
        self._siblings[number].add(leaf)

    def hashes(self) -> tuple[bytes, ...]:
        """The roots of the siblings, the nearest first. An empty sibling is not part of the path."""
        return tuple(sibling.root() for sibling in self._siblings if sibling.size)


class ConsistencyPath(InclusionPath):
    """The path of RFC 6962, section 2.1.2, from the root of `from_size` leaves to the root of all added leaves.

    It starts with the last complete subtree of the older tree, followed by the siblings on its path. If that subtree
    is the whole older tree, its root is already known and omitted.
    """

    def __init__(self, from_size: int) -> None:
        self._from_size = from_size
        trailing_zeros = max(0, (from_size & -from_size).bit_length() - 1)
        super().__init__(max(0, from_size - 1), trailing_zeros)

    def hashes(self) -> tuple[bytes, ...]:
        if self._from_size in (0, self._size):
            return ()
        start = () if _is_power_of_two(self._from_size) else (self._subtree.root(),)
        return (*start, *super().hashes())


def is_included(leaf: bytes, index: int, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path proves that `leaf` is at `index` in the tree (RFC 9162, section 2.1.3.2)."""
    if index >= size:
        return False
    number, last, computed = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if number & 1 or number == last:
            computed = node_hash(sibling, computed)
            number, last = _past_lone_nodes(number, last)
        else:
            computed = node_hash(computed, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and computed == root


def is_consistent(from_size: int, from_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path proves that the older tree is the beginning of the tree (RFC 9162, section 2.1.4.2).

    If the older tree is empty or the two are equal, the path must be empty.
    """
    if from_size == size:
        return from_root == root and not path and (size > 0 or root == EMPTY_ROOT)
    if from_size == 0:
        return from_root == EMPTY_ROOT and not path
    if from_size > size or not path:
        return False
    start, *siblings = [from_root, *path] if _is_power_of_two(from_size) else path
    number, last = from_size - 1, size - 1
    while number & 1:
        number, last = number >> 1, last >> 1
    old = new = start
    for sibling in siblings:
        if last == 0:
            return False
        if number & 1 or number == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            number, last = _past_lone_nodes(number, last)
        else:
            new = node_hash(new, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and old == from_root and new == root


def _past_lone_nodes(number: int, last: int) -> tuple[int, int]:
    """Moves up to the level where the node's sibling is on the left. Nodes without a sibling move up unchanged."""
    while number and not number & 1:
        number, last = number >> 1, last >> 1
    return number, last


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
