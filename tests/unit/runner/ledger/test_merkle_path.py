"""Paths match the definitions in RFC 6962 for every pair of sizes up to 70, and every other path is rejected."""

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.merkle import EMPTY_ROOT, MerkleTree
from forum_runner.ledger.merkle_path import ConsistencyPath, InclusionPath, is_consistent, is_included

pytestmark = pytest.mark.requirement("LEDGER-PROOF-001")

MAX_SIZE = 70
LEAVES = [hashlib.sha256(bytes([number])).digest() for number in range(MAX_SIZE)]
Path = tuple[bytes, ...]


def root(leaves: Sequence[bytes]) -> bytes:
    tree = MerkleTree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def half_of(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_by_definition(index: int, leaves: Sequence[bytes]) -> Path:
    """PATH(m, D[n]) of RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return ()
    half = half_of(len(leaves))
    if index < half:
        return (*inclusion_by_definition(index, leaves[:half]), root(leaves[half:]))
    return (*inclusion_by_definition(index - half, leaves[half:]), root(leaves[:half]))


def consistency_by_definition(size: int, leaves: Sequence[bytes], is_known: bool = True) -> Path:
    """SUBPROOF(m, D[n], b) of RFC 6962, section 2.1.2."""
    if size == len(leaves):
        return () if is_known else (root(leaves),)
    half = half_of(len(leaves))
    if size <= half:
        return (*consistency_by_definition(size, leaves[:half], is_known), root(leaves[half:]))
    return (*consistency_by_definition(size - half, leaves[half:], False), root(leaves[:half]))


def inclusion(index: int, size: int) -> Path:
    builder = InclusionPath(index)
    for leaf in LEAVES[:size]:
        builder.add(leaf)
    return builder.hashes()


def consistency(from_size: int, size: int) -> Path:
    builder = ConsistencyPath(from_size)
    for leaf in LEAVES[:size]:
        builder.add(leaf)
    return builder.hashes()


@pytest.mark.parametrize("size", range(1, MAX_SIZE + 1))
def test_an_inclusion_path_matches_the_definition_and_leads_to_the_root(size: int) -> None:
    full_root = root(LEAVES[:size])

    for index in range(size):
        path = inclusion(index, size)
        assert path == inclusion_by_definition(index, LEAVES[:size])
        assert is_included(LEAVES[index], index, size, full_root, path)


@pytest.mark.parametrize("size", range(MAX_SIZE + 1))
def test_a_consistency_path_matches_the_definition_and_leads_to_the_root(size: int) -> None:
    full_root = root(LEAVES[:size])

    for from_size in range(size + 1):
        path = consistency(from_size, size)
        assert path == (consistency_by_definition(from_size, LEAVES[:size]) if from_size else ())
        assert is_consistent(from_size, root(LEAVES[:from_size]), size, full_root, path)


def test_the_example_in_the_rfc_has_the_documented_path() -> None:
    """Section 2.1.3: the consistency proof of 3 and 7 leaves is [c, d, g, l]."""
    leaves = LEAVES[:7]

    assert consistency(3, 7) == (LEAVES[2], LEAVES[3], root(leaves[:2]), root(leaves[4:]))


def mutants(path: Path) -> list[Path]:
    """Change, drop or double each hash, swap neighbors, and add a hash at either end."""
    other = bytes(32)
    changed = [(*path[:at], bytes([path[at][0] ^ 1]) + path[at][1:], *path[at + 1 :]) for at in range(len(path))]
    dropped = [path[:at] + path[at + 1 :] for at in range(len(path))]
    doubled = [path[: at + 1] + path[at:] for at in range(len(path))]
    swapped = [(*path[:at], path[at + 1], path[at], *path[at + 2 :]) for at in range(len(path) - 1)]
    return [*changed, *dropped, *doubled, *swapped, (other, *path), (*path, other)]


@given(st.data(), st.integers(1, MAX_SIZE))
def test_a_changed_inclusion_proof_is_rejected(data: st.DataObject, size: int) -> None:
    index = data.draw(st.integers(0, size - 1))
    full_root, path, leaf = root(LEAVES[:size]), inclusion(index, size), LEAVES[index]

    assert not any(is_included(leaf, index, size, full_root, mutant) for mutant in mutants(path))
    assert not any(is_included(leaf, other, size, full_root, path) for other in range(size + 3) if other != index)
    assert not is_included(bytes(32), index, size, full_root, path)
    assert not is_included(leaf, index, size, bytes(32), path)


@given(st.data(), st.integers(1, MAX_SIZE))
def test_a_changed_consistency_proof_is_rejected(data: st.DataObject, size: int) -> None:
    from_size = data.draw(st.integers(0, size))
    old, new, path = root(LEAVES[:from_size]), root(LEAVES[:size]), consistency(from_size, size)

    assert not any(is_consistent(from_size, old, size, new, mutant) for mutant in mutants(path))
    assert not is_consistent(from_size, bytes(32), size, new, path)
    # Every tree is consistent with the empty tree, so any root is accepted.
    assert is_consistent(from_size, old, size, bytes(32), path) == (from_size == 0)


def test_the_empty_tree_has_exactly_one_root() -> None:
    assert is_consistent(0, EMPTY_ROOT, 0, EMPTY_ROOT, ())
    assert not is_consistent(0, EMPTY_ROOT, 0, LEAVES[0], ())
    assert not is_consistent(0, LEAVES[0], 0, LEAVES[0], ())
    assert not is_consistent(0, EMPTY_ROOT, 0, EMPTY_ROOT, (LEAVES[0],))


def test_a_larger_tree_is_not_consistent_with_a_smaller_one() -> None:
    old, new = root(LEAVES[:5]), root(LEAVES[:3])

    assert not is_consistent(5, old, 3, new, consistency(3, 5))
    assert not is_consistent(5, old, 0, EMPTY_ROOT, ())


@given(st.integers(0, 3_000))
def test_the_builder_keeps_a_logarithmic_number_of_hashes(index: int) -> None:
    builder = InclusionPath(index)
    for number in range(3_000):
        builder.add(number.to_bytes(32))

    kept = sum(node is not None for tree in builder._siblings for node in tree._edge)
    assert kept <= 2 * (3_000).bit_length()
