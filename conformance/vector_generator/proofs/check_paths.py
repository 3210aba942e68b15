"""Proofs whose path does not lead to the root (L602)."""

from collections.abc import Callable, Iterator
from functools import partial

from fake_ledger.files import checkpoint_text
from vector_generator.proofs import documents, tree
from vector_generator.proofs.check_malformed import Broken
from vector_generator.proofs.documents import Proof, leaves, root_of

INCLUDED = documents.inclusion(5, 7)
GROWN = documents.consistency(3, 7)
FROM_POWER = documents.consistency(4, 7)
EDGES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70)

Path = list[str]


def _path(name: str, base: Proof, title: str, mutation: str, change: Callable[[Path], Path]) -> Broken:
    return Broken(name, base, "L602", title, mutation, lambda proof: {**proof, "path": change(proof["path"])})


def _flipped(node: str) -> str:
    return node[:-1] + ("0" if node[-1] != "0" else "1")


def _other_root(proof: Proof) -> Proof:
    """Root and checkpoint agree with each other, and with no path."""
    other = root_of(6)
    return {**proof, "root": other.hex(), "checkpoint": checkpoint_text(proof["size"], other).decode()}


def _hashed(found: list[bytes]) -> Path:
    return [node.hex() for node in found]


ROWS = (
    _path("inclusion-with-no-path", INCLUDED, "an empty path", "the path is empty", lambda _: []),
    _path("inclusion-with-a-short-path", INCLUDED, "a path that ends too early", "the last node is missing",
          lambda path: path[:-1]),
    _path("inclusion-without-the-first-node", INCLUDED, "a path without its first node", "the first node is missing",
          lambda path: path[1:]),
    _path("inclusion-with-a-long-path", INCLUDED, "a path with one node too many", "a node of zeros follows",
          lambda path: [*path, "0" * 64]),
    _path("inclusion-with-a-repeated-node", INCLUDED, "a path with a repeated node", "the last node occurs twice",
          lambda path: [*path, path[-1]]),
    _path("inclusion-reversed", INCLUDED, "a path from the root to the leaf", "the path is turned round",
          lambda path: path[::-1]),
    _path("inclusion-with-a-changed-node", INCLUDED, "a path with another node",
          "the last digit of the first node is another",
          lambda path: [_flipped(path[0]), *path[1:]]),
    _path("inclusion-with-the-path-of-its-neighbour", INCLUDED, "the path of a neighbouring entry",
          "the path belongs to entry 4", lambda _: _hashed(tree.inclusion(4, leaves()[:7]))),
    _path("inclusion-with-the-path-of-another-size", INCLUDED, "the path of a larger tree",
          "the path is that among eight",
          lambda _: _hashed(tree.inclusion(5, leaves()[:8]))),
    _path("inclusion-of-the-only-entry-with-a-path", documents.inclusion(0, 1), "the only entry has a path",
          "there is a node of zeros", lambda _: ["0" * 64]),
    Broken("inclusion-of-an-edited-entry", INCLUDED, "L602", "the entry was edited", "`n` of the entry is 6",
           lambda proof: {**proof, "entry": proof["entry"].replace('"n":5', '"n":6')}),
    Broken("inclusion-of-a-reserialized-entry", INCLUDED, "L602",
           "the entry's line is hashed as found: a space changes the hash",
           "a space precedes the entry", lambda proof: {**proof, "entry": " " + proof["entry"]}),
    Broken("inclusion-in-another-root", INCLUDED, "L602", "root and checkpoint belong to another tree",
           "root and checkpoint have the root of six entries", _other_root),
    _path("consistency-with-no-path", GROWN, "an empty path", "the path is empty", lambda _: []),
    _path("consistency-with-a-short-path", GROWN, "a path that ends too early", "the last node is missing",
          lambda path: path[:-1]),
    _path("consistency-with-a-long-path", GROWN, "a path with one node too many", "a node of zeros follows",
          lambda path: [*path, "0" * 64]),
    _path("consistency-reversed", GROWN, "a reversed path", "the path is turned round",
          lambda path: path[::-1]),
    _path("consistency-with-a-changed-node", GROWN, "a path with another node",
          "the last digit of the last node is another",
          lambda path: [*path[:-1], _flipped(path[-1])]),
    _path("consistency-with-a-changed-first-node", GROWN, "a path with another first node",
          "the last digit of the first node is another", lambda path: [_flipped(path[0]), *path[1:]]),
    _path("consistency-without-the-first-node", GROWN, "a path without its first node",
          "the first node is missing", lambda path: path[1:]),
    _path("consistency-with-the-older-root-in-its-path", FROM_POWER,
          "a path that contains the older root, which is known",
          "the older root is prepended", lambda path: [root_of(4).hex(), *path]),
    Broken("consistency-from-another-root", GROWN, "L602", "the older root is wrong",
           "`from_root` is the root of two entries",
           lambda proof: {**proof, "from_root": root_of(2).hex()}),
    Broken("consistency-from-another-root-of-a-full-tree", FROM_POWER, "L602",
           "the older root, of a full tree, is wrong",
           "`from_root` is the root of three entries", lambda proof: {**proof, "from_root": root_of(3).hex()}),
    Broken("consistency-to-another-root", GROWN, "L602", "root and checkpoint belong to another tree",
           "root and checkpoint have the root of six entries", _other_root),
    Broken("consistency-from-another-size", GROWN, "L602", "the path belongs to another older size", "`from_size` is 2",
           lambda proof: {**proof, "from_size": 2}),
    _path("consistency-of-equal-sizes-with-a-path", documents.consistency(5, 5), "a path between equal sizes",
          "the path has the root", lambda _: [root_of(5).hex()]),
    Broken("consistency-of-equal-sizes-with-two-roots", documents.consistency(5, 5), "L602",
           "equal sizes have different roots",
           "`from_root` is the root of four entries", lambda proof: {**proof, "from_root": root_of(4).hex()}),
    _path("consistency-from-empty-with-a-path", documents.consistency(0, 5), "a path from an empty tree",
          "the path has the root", lambda _: [root_of(5).hex()]),
    Broken("consistency-from-empty-with-another-root", documents.consistency(0, 5), "L602",
           "an empty tree has another root",
           "`from_root` is zeros", lambda proof: {**proof, "from_root": "0" * 64}),
    Broken("consistency-of-empty-trees-to-another-root", documents.consistency(0, 0), "L602",
           "both sizes are 0, and the root is wrong", "root and checkpoint have the root of six entries", _other_root),
    Broken("consistency-of-empty-trees-from-another-root", documents.consistency(0, 0), "L602",
           "both sizes are 0, and the older root is wrong",
           "`from_root` is the root of one entry", lambda proof: {**proof, "from_root": root_of(1).hex()}),
)  # fmt: skip


def _changed_at(place: int, path: Path) -> Path:
    return [*path[:place], _flipped(path[place]), *path[place + 1 :]]


def of_the_edges() -> Iterator[Broken]:
    """At sizes around powers of two, the last entry, or the size before, with a node that is changed in turn."""
    for number, size in enumerate(EDGES):
        base = documents.chosen(size)
        place = number % len(base["path"])
        kind = base["proof"]
        yield _path(
            f"{kind}-changed-at-{size}", base, f"of {size} entries: one node of the path is another",
            f"the last digit of node {place} is another",
            partial(_changed_at, place),
        )  # fmt: skip
