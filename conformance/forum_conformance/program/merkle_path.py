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


def split(size: int) -> int:
    """The largest power of two below the size, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_path(seq: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Section 2.1.1: PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    half = split(len(leaves))
    if seq < half:
        return [*inclusion_path(seq, leaves[:half]), root_of(leaves[half:])]
    return [*inclusion_path(seq - half, leaves[half:]), root_of(leaves[:half])]


def consistency_path(from_size: int, leaves: Sequence[bytes], *, is_known: bool = True) -> list[bytes]:
    """Section 2.1.2: SUBPROOF(m, D[n], b); b says that the root of the first m leaves is known to the reader."""
    if from_size == len(leaves):
        return [] if is_known else [root_of(leaves)]
    half = split(len(leaves))
    if from_size <= half:
        return [*consistency_path(from_size, leaves[:half], is_known=is_known), root_of(leaves[half:])]
    return [*consistency_path(from_size - half, leaves[half:], is_known=False), root_of(leaves[:half])]


def included_root(seq: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes:
    """The root that a path leads to from a leaf."""
    if size == 1:
        end_of(path, 0)
        return leaf
    nearer, sibling = last_of(path)
    half = split(size)
    if seq < half:
        return merkle.node(included_root(seq, half, leaf, nearer), sibling)
    return merkle.node(sibling, included_root(seq - half, size - half, leaf, nearer))


def consistent_roots(from_size: int, size: int, known: bytes | None, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The roots of the smaller and the larger tree that a path leads to; `known` is the claimed root of the smaller."""
    if from_size == size:
        end_of(path, 0 if known else 1)
        root = known or path[0]
        return root, root
    nearer, sibling = last_of(path)
    half = split(size)
    if from_size <= half:
        older, newer = consistent_roots(from_size, half, known, nearer)
        return older, merkle.node(newer, sibling)
    older, newer = consistent_roots(from_size - half, size - half, None, nearer)
    return merkle.node(sibling, older), merkle.node(sibling, newer)


def end_of(path: Sequence[bytes], expected: int) -> None:
    if len(path) != expected:
        raise WrongPath(f"{len(path)} nodes of the path are left instead of {expected}")


def last_of(path: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
    if not path:
        raise WrongPath("the path ends before the root")
    return path[:-1], path[-1]
