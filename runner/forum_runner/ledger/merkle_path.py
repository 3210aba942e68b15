"""Paths in the Merkle tree of RFC 6962: built in one pass over the leaves, and checked as in RFC 9162."""

from __future__ import annotations

from collections.abc import Sequence

from forum_runner.ledger.merkle import EMPTY_ROOT, MerkleTree, node_hash


class _Siblings:
    """The sibling subtrees on the path from one complete subtree, with 2^level leaves, to the root.

    Each leaf outside the subtree belongs to one sibling. The highest bit in which its number differs from a number
    inside selects the sibling. This keeps log n hashes, and the number of leaves need not be known in advance.
    """

    def __init__(self, inside: int, level: int) -> None:
        self._inside = inside
        self._level = level
        self._trees: list[MerkleTree] = []
        self.subtree = MerkleTree()

    def add(self, number: int, leaf: bytes) -> None:
        above = (number ^ self._inside).bit_length() - 1 - self._level
        if above < 0:
            self.subtree.add(leaf)
            return
        while len(self._trees) <= above:
            self._trees.append(MerkleTree())
        self._trees[above].add(leaf)

    def roots(self) -> list[bytes]:
        """The nearest first. An empty sibling is not part of the path."""
        return [tree.root() for tree in self._trees if tree.size]


class InclusionPath:
    """The path of RFC 6962, section 2.1.1, from a leaf to the root of all added leaves."""

    def __init__(self, index: int) -> None:
        self._siblings = _Siblings(index, 0)
        self._size = 0

    def add(self, leaf: bytes) -> None:
        self._siblings.add(self._size, leaf)
        self._size += 1

    def hashes(self) -> tuple[bytes, ...]:
        return tuple(self._siblings.roots())


class ConsistencyPath:
    """The path of RFC 6962, section 2.1.2, from the root of `from_size` leaves to the root of all added leaves.

    It starts with the last complete subtree of the older tree, followed by the siblings on its path. If that subtree
    is the whole older tree, its root is already known and omitted.
    """

    def __init__(self, from_size: int) -> None:
        self._from_size = from_size
        self._size = 0
        trailing_zeros = (from_size & -from_size).bit_length() - 1
        self._siblings = _Siblings(from_size - 1, trailing_zeros) if from_size else None

    def add(self, leaf: bytes) -> None:
        if self._siblings is not None:
            self._siblings.add(self._size, leaf)
        self._size += 1

    def hashes(self) -> tuple[bytes, ...]:
        if self._siblings is None or self._size == self._from_size:
            return ()
        start = [] if _is_power_of_two(self._from_size) else [self._siblings.subtree.root()]
        return (*start, *self._siblings.roots())


def is_included(leaf: bytes, index: int, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """RFC 9162, section 2.1.3.2."""
    if index >= size:
        return False
    number, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if number & 1 or number == last:
            found = node_hash(sibling, found)
            number, last = _past_lone_nodes(number, last)
        else:
            found = node_hash(found, sibling)
        number, last = number >> 1, last >> 1
    return last == 0 and found == root


def is_consistent(from_size: int, from_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """RFC 9162, section 2.1.4.2. An empty tree and an equal tree need no path."""
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
    """Moves up to the level where the sibling is on the left: a node without a sibling moves up unchanged."""
    while number and not number & 1:
        number, last = number >> 1, last >> 1
    return number, last


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
