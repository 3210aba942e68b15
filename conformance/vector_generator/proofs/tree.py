"""Computes and checks Merkle paths by the recursive definitions of RFC 6962, sections 2.1.1 and 2.1.2."""

import hashlib
from collections.abc import Sequence

from fake_ledger.files import merkle_root

Hashes = list[bytes]


class BrokenPath(Exception):
    """A path with too many or too few nodes."""


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def split(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << (size - 1).bit_length() - 1


def inclusion(seq: int, leaves: Sequence[bytes]) -> Hashes:
    """The path from the leaf `seq` to the root: PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    half = split(len(leaves))
    if seq < half:
        return [*inclusion(seq, leaves[:half]), merkle_root(leaves[half:])]
    return [*inclusion(seq - half, leaves[half:]), merkle_root(leaves[:half])]


def consistency(size: int, leaves: Sequence[bytes]) -> Hashes:
    """The path from the first `size` leaves to all: PROOF(m, D[n]), defined for 0 < m <= n. From none, it is empty."""
    return _subproof(size, leaves, is_known=True) if size else []


def _subproof(size: int, leaves: Sequence[bytes], *, is_known: bool) -> Hashes:
    """SUBPROOF(m, D[n], b), where b is `is_known`: whether the verifier has the root of the older tree."""
    if size == len(leaves):
        return [] if is_known else [merkle_root(leaves)]
    half = split(len(leaves))
    if size <= half:
        return [*_subproof(size, leaves[:half], is_known=is_known), merkle_root(leaves[half:])]
    return [*_subproof(size - half, leaves[half:], is_known=False), merkle_root(leaves[:half])]


def root_along(leaf: bytes, seq: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that an inclusion path leads to."""
    if size == 1:
        if path:
            raise BrokenPath
        return leaf
    rest, sibling = _pop_sibling(path)
    half = split(size)
    if seq < half:
        return node(root_along(leaf, seq, half, rest), sibling)
    return node(sibling, root_along(leaf, seq - half, size - half, rest))


def roots_along(from_size: int, from_root: bytes, size: int, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The roots of both sizes that a consistency path leads to; 0 < from_size <= size."""
    return _roots(from_size, size, path, from_root)


def _roots(from_size: int, size: int, path: Sequence[bytes], known: bytes | None) -> tuple[bytes, bytes]:
    """The roots of both sizes. `known` is the older root, or None in a subtree that contains only part of that tree."""
    if from_size == size:
        if len(path) != (1 if known is None else 0):
            raise BrokenPath
        root = path[0] if known is None else known
        return root, root
    rest, sibling = _pop_sibling(path)
    half = split(size)
    if from_size <= half:
        old, new = _roots(from_size, half, rest, known)
        return old, node(new, sibling)
    old, new = _roots(from_size - half, size - half, rest, None)
    return node(sibling, old), node(sibling, new)


def _pop_sibling(path: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
    if not path:
        raise BrokenPath
    return path[:-1], path[-1]
