"""The Merkle tree of RFC 6962, compared with the RFC's definition and with known roots."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import leaf, merkle_root
from forum_conformance.merkle import EMPTY_ROOT, Tree

# Leaves and roots from the reference implementation's tests (certificate-transparency, merkle_tree_test).
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
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


@pytest.mark.requirement("LEDGER-TREE-001")
def test_the_root_of_an_empty_tree_is_the_hash_of_nothing() -> None:
    assert Tree().root() == EMPTY_ROOT == hashlib.sha256(b"").digest()


@pytest.mark.requirement("LEDGER-TREE-001")
def test_roots_equal_known_roots() -> None:
    tree = Tree()
    roots = []
    for data in LEAVES:
        tree.add(leaf(bytes.fromhex(data)))
        roots.append(tree.root().hex())

    assert roots == ROOTS


@pytest.mark.requirement("LEDGER-TREE-001")
@given(st.lists(st.binary(max_size=8), max_size=70))
def test_a_growing_tree_has_the_root_of_the_definition(contents: list[bytes]) -> None:
    tree = Tree()
    for content in contents:
        tree.add(leaf(content))

    assert tree.root() == merkle_root([leaf(content) for content in contents])
    assert tree.size == len(contents)
