"""Paths through a Merkle tree: known paths, and the laws of RFC 6962, sections 2.1.1 and 2.1.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import leaf
from forum_conformance.program.merkle_path import (
    WrongPath,
    consistency_path,
    consistency_roots,
    inclusion_path,
    inclusion_root,
    root_of,
)
from unit.conformance.test_merkle import LEAVES

KNOWN = [leaf(bytes.fromhex(data)) for data in LEAVES]
SIZES = st.integers(1, 40).flatmap(lambda size: st.tuples(st.integers(1, size), st.just(size)))


def leaves(size: int) -> list[bytes]:
    return [leaf(bytes([number])) for number in range(size)]


# Paths from the reference implementation's tests (certificate-transparency, merkle_tree_test).
@pytest.mark.requirement("LEDGER-PROOF-001")
@pytest.mark.parametrize(
    ("seq", "size", "path"),
    [
        (0, 1, []),
        (0, 8, ["96a296d2", "5f083f0a", "6b47aaf2"]),
        (5, 8, ["bc1a0643", "ca854ea1", "d37ee418"]),
        (2, 3, ["fac54203"]),
        (1, 5, ["6e340b9c", "5f083f0a", "bc1a0643"]),
    ],
)
def test_inclusion_paths_equal_known_paths(seq: int, size: int, path: list[str]) -> None:
    assert [hash_.hex()[:8] for hash_ in inclusion_path(seq, KNOWN[:size])] == path


@pytest.mark.requirement("LEDGER-PROOF-001")
@pytest.mark.parametrize(
    ("from_size", "size", "path"),
    [
        (1, 1, []),
        (1, 8, ["96a296d2", "5f083f0a", "6b47aaf2"]),
        (6, 8, ["0ebc5d34", "ca854ea1", "d37ee418"]),
        (2, 5, ["5f083f0a", "bc1a0643"]),
    ],
)
def test_consistency_paths_equal_known_paths(from_size: int, size: int, path: list[str]) -> None:
    assert [hash_.hex()[:8] for hash_ in consistency_path(from_size, KNOWN[:size])] == path


@pytest.mark.requirement("LEDGER-PROOF-001")
@given(SIZES)
def test_an_inclusion_path_leads_to_the_root(sizes: tuple[int, int]) -> None:
    number, size = sizes
    path = inclusion_path(number - 1, leaves(size))

    assert inclusion_root(number - 1, size, leaves(size)[number - 1], path) == root_of(leaves(size))


@pytest.mark.requirement("LEDGER-PROOF-001")
@given(SIZES)
def test_a_consistency_path_leads_to_both_roots(sizes: tuple[int, int]) -> None:
    from_size, size = sizes
    older, newer = root_of(leaves(from_size)), root_of(leaves(size))

    assert consistency_roots(from_size, size, older, consistency_path(from_size, leaves(size))) == (older, newer)


@pytest.mark.requirement("LEDGER-PROOF-001")
@given(SIZES, st.booleans())
def test_a_path_that_is_too_long_or_too_short_is_refused(sizes: tuple[int, int], is_longer: bool) -> None:
    from_size, size = sizes
    inclusion = inclusion_path(from_size - 1, leaves(size))
    consistency = consistency_path(from_size, leaves(size))
    if not is_longer and not (inclusion and consistency):
        return

    for path in (inclusion, consistency):
        changed = [*path, bytes(32)] if is_longer else path[:-1]
        with pytest.raises(WrongPath):
            if path is inclusion:
                inclusion_root(from_size - 1, size, leaves(size)[from_size - 1], changed)
            else:
                consistency_roots(from_size, size, root_of(leaves(from_size)), changed)
