"""Paths in Merkle trees, compared with known paths and with the roots for every size up to 70."""

import hashlib

import pytest

from fake_ledger.files import merkle_root
from vector_generator.proofs.tree import BrokenPath, consistency, inclusion, root_along, roots_along

# Leaves and paths from the reference implementation's tests (certificate-transparency, merkle_tree_test).
LEAVES = [
    hashlib.sha256(b"\0" + bytes.fromhex(data)).digest()
    for data in ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
]
MANY = [hashlib.sha256(bytes([number])).digest() for number in range(70)]


@pytest.mark.parametrize(
    ("seq", "size", "path"),
    [
        (0, 1, []),
        (
            0,
            8,
            [
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            ],
        ),
        (2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    ],
)
def test_an_inclusion_path_equals_the_known_path(seq: int, size: int, path: list[str]) -> None:
    assert [node.hex() for node in inclusion(seq, LEAVES[:size])] == path


def test_a_consistency_path_equals_the_known_path() -> None:
    path = [node.hex() for node in consistency(6, LEAVES)]

    assert path == [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]


def test_every_inclusion_path_leads_to_the_root() -> None:
    for size in range(1, 71):
        expected = merkle_root(MANY[:size])
        roots = {root_along(MANY[seq], seq, size, inclusion(seq, MANY[:size])) for seq in range(size)}
        assert roots == {expected}


def test_every_consistency_path_leads_from_the_older_root_to_the_root() -> None:
    for size in range(1, 71):
        expected = merkle_root(MANY[:size])
        for older in range(1, size + 1):
            first = merkle_root(MANY[:older])
            assert roots_along(older, first, size, consistency(older, MANY[:size])) == (first, expected)


@pytest.mark.parametrize("path", [inclusion(5, MANY[:7])[:-1], [*inclusion(5, MANY[:7]), MANY[0]]])
def test_an_inclusion_path_of_a_different_length_is_broken(path: list[bytes]) -> None:
    with pytest.raises(BrokenPath):
        root_along(MANY[5], 5, 7, path)


@pytest.mark.parametrize("path", [consistency(3, MANY[:7])[:-1], [*consistency(3, MANY[:7]), MANY[0]], []])
def test_a_consistency_path_of_a_different_length_is_broken(path: list[bytes]) -> None:
    with pytest.raises(BrokenPath):
        roots_along(3, merkle_root(MANY[:3]), 7, path)
