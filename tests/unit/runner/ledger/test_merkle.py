"""The incremental tree compared with the definition in RFC 6962 and with Certificate Transparency vectors."""

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.layout import leaf_hash
from forum_runner.ledger.merkle import EMPTY_ROOT, MerkleTree

pytestmark = pytest.mark.requirement("LEDGER-TREE-001")

LINES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")]
LINES.append(bytes.fromhex("606162636465666768696a6b6c6d6e6f"))
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def root_by_definition(leaves: Sequence[bytes]) -> bytes:
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while 2 * half < len(leaves):
        half *= 2
    return hashlib.sha256(b"\1" + root_by_definition(leaves[:half]) + root_by_definition(leaves[half:])).digest()


def test_roots_match_the_certificate_transparency_vectors() -> None:
    tree = MerkleTree()
    roots = []
    for line in LINES:
        tree.add(leaf_hash(line))
        roots.append(tree.root().hex())

    assert roots == ROOTS


def test_the_root_of_an_empty_tree_is_the_hash_of_the_empty_string() -> None:
    assert MerkleTree().root() == EMPTY_ROOT == hashlib.sha256(b"").digest()


@given(st.lists(st.binary(max_size=8), max_size=80))
def test_the_root_after_each_leaf_matches_the_definition(lines: list[bytes]) -> None:
    leaves = [leaf_hash(line) for line in lines]
    tree = MerkleTree()

    for count, leaf in enumerate(leaves, 1):
        tree.add(leaf)
        assert (tree.size, tree.root()) == (count, root_by_definition(leaves[:count]))


@given(st.lists(st.integers(0, 150), max_size=4))
def test_adding_leaves_in_batches_makes_the_same_tree(sizes: list[int]) -> None:
    leaves = [leaf_hash(str(number).encode()) for number in range(sum(sizes))]
    tree = MerkleTree()

    rest = iter(leaves)
    for size in sizes:
        tree.add_all([next(rest) for _ in range(size)])

    assert (tree.size, tree.root()) == (len(leaves), root_by_definition(leaves))
