"""Create and check the proofs of RFC 6962, sections 2.1.1 and 2.1.2, by their definitions."""

from collections.abc import Sequence

from forum_conformance import merkle


class WrongPath(ValueError):
    """A path with too few or too many nodes for its leaf."""


def root_of(leaves: Sequence[bytes]) -> bytes:
    tree = merkle.Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def left_size(size: int) -> int:
    """The number of leaves in the left subtree: the largest power of two below the size, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_path(seq: int, leaves: Sequence[bytes]) -> list[bytes]:
    """The inclusion path of the leaf `seq`: PATH(m, D[n]) of section 2.1.1."""
    if len(leaves) == 1:
        return []
    half = left_size(len(leaves))
    if seq < half:
        return [*inclusion_path(seq, leaves[:half]), root_of(leaves[half:])]
    return [*inclusion_path(seq - half, leaves[half:]), root_of(leaves[:half])]


def consistency_path(from_size: int, leaves: Sequence[bytes], *, is_known: bool = True) -> list[bytes]:
    """The consistency path from the first `from_size` leaves: SUBPROOF(m, D[n], b) of section 2.1.2.

    `is_known` (b) says that the reader knows the root of the first `from_size` leaves.
    """
    if from_size == len(leaves):
        return [] if is_known else [root_of(leaves)]
    half = left_size(len(leaves))
    if from_size <= half:
        return [*consistency_path(from_size, leaves[:half], is_known=is_known), root_of(leaves[half:])]
    return [*consistency_path(from_size - half, leaves[half:], is_known=False), root_of(leaves[:half])]


def inclusion_root(seq: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes:
    """The root that a leaf and its inclusion path lead to."""
    if size == 1:
        require_length(path, 0)
        return leaf
    inner_path, sibling = split_last(path)
    half = left_size(size)
    if seq < half:
        return merkle.node_hash(inclusion_root(seq, half, leaf, inner_path), sibling)
    return merkle.node_hash(sibling, inclusion_root(seq - half, size - half, leaf, inner_path))


def consistency_roots(from_size: int, size: int, known: bytes | None, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The roots of the smaller and the larger tree that a consistency path leads to.

    `known` is the claimed root of the smaller tree; None if the path contains it.
    """
    if from_size == size:
        require_length(path, 0 if known else 1)
        root = known or path[0]
        return root, root
    inner_path, sibling = split_last(path)
    half = left_size(size)
    if from_size <= half:
        older, newer = consistency_roots(from_size, half, known, inner_path)
        return older, merkle.node_hash(newer, sibling)
    older, newer = consistency_roots(from_size - half, size - half, None, inner_path)
    return merkle.node_hash(sibling, older), merkle.node_hash(sibling, newer)


def require_length(path: Sequence[bytes], expected: int) -> None:
    if len(path) != expected:
        raise WrongPath(f"at the leaf, {len(path)} nodes of the path are left, expected {expected}")


def split_last(path: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
    """The path without its last node, and that node."""
    if not path:
        raise WrongPath("the path ends before the root")
    return path[:-1], path[-1]
