"""Proofs whose path does not lead to the root (L602)."""

from collections.abc import Callable, Iterator
from functools import partial

from fake_ledger.files import checkpoint_text
from vector_generator.proofs import documents, tree
from vector_generator.proofs.check_malformed import BrokenProof
from vector_generator.proofs.documents import Proof, leaves, root_of

INCLUSION = documents.inclusion(5, 7)
CONSISTENCY = documents.consistency(3, 7)
FROM_POWER = documents.consistency(4, 7)
SIZES_NEAR_POWERS = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70)

Path = list[str]


def _path(name: str, base: Proof, title: str, mutation: str, change: Callable[[Path], Path]) -> BrokenProof:
    return BrokenProof(name, base, "L602", title, mutation, lambda proof: {**proof, "path": change(proof["path"])})


def _with_last_digit_changed(node: str) -> str:
    return node[:-1] + ("0" if node[-1] != "0" else "1")


def _other_root(proof: Proof) -> Proof:
    """The proof with a different root, and a checkpoint that agrees with that root."""
    root = root_of(6)
    return {**proof, "root": root.hex(), "checkpoint": checkpoint_text(proof["size"], root).decode()}


def _hex_path(nodes: list[bytes]) -> Path:
    return [node.hex() for node in nodes]


ROWS = (
    _path("inclusion-with-no-path", INCLUSION, "an empty path", "the path is empty", lambda _: []),
    _path("inclusion-with-a-short-path", INCLUSION, "a path that ends too early", "the last node is missing",
          lambda path: path[:-1]),
    _path("inclusion-without-the-first-node", INCLUSION, "a path without its first node", "the first node is missing",
          lambda path: path[1:]),
    _path("inclusion-with-a-long-path", INCLUSION, "a path with one node too many", "a node of zeros follows",
          lambda path: [*path, "0" * 64]),
    _path("inclusion-with-a-repeated-node", INCLUSION, "a path with a repeated node", "the last node occurs twice",
          lambda path: [*path, path[-1]]),
    _path("inclusion-reversed", INCLUSION, "a path from the root to the leaf", "the path is reversed",
          lambda path: path[::-1]),
    _path("inclusion-with-a-changed-node", INCLUSION, "a path with a wrong node",
          "the last digit of the first node is changed",
          lambda path: [_with_last_digit_changed(path[0]), *path[1:]]),
    _path("inclusion-with-the-path-of-its-neighbor", INCLUSION, "the path of a neighboring entry",
          "the path belongs to entry 4", lambda _: _hex_path(tree.inclusion(4, leaves()[:7]))),
    _path("inclusion-with-the-path-of-another-size", INCLUSION, "the path of a larger tree",
          "the path leads to the root of eight entries",
          lambda _: _hex_path(tree.inclusion(5, leaves()[:8]))),
    _path("inclusion-of-the-only-entry-with-a-path", documents.inclusion(0, 1),
        "an inclusion proof for the only entry has a path",
          "the path has a node of zeros", lambda _: ["0" * 64]),
    BrokenProof("inclusion-of-an-edited-entry", INCLUSION, "L602", "the entry was edited", "`n` of the entry is 6",
           lambda proof: {**proof, "entry": proof["entry"].replace('"n":5', '"n":6')}),
    BrokenProof("inclusion-of-a-reserialized-entry", INCLUSION, "L602",
           "the entry's line is hashed as found: a space changes the hash",
           "a space precedes the entry", lambda proof: {**proof, "entry": " " + proof["entry"]}),
    BrokenProof("inclusion-in-another-root", INCLUSION, "L602", "the root and the checkpoint belong to another tree",
           "root and checkpoint have the root of six entries", _other_root),
    _path("consistency-with-no-path", CONSISTENCY, "an empty path", "the path is empty", lambda _: []),
    _path("consistency-with-a-short-path", CONSISTENCY, "a path that ends too early", "the last node is missing",
          lambda path: path[:-1]),
    _path("consistency-with-a-long-path", CONSISTENCY, "a path with one node too many", "a node of zeros follows",
          lambda path: [*path, "0" * 64]),
    _path("consistency-reversed", CONSISTENCY, "a reversed path", "the path is reversed",
          lambda path: path[::-1]),
    _path("consistency-with-a-changed-node", CONSISTENCY, "a path with a wrong node",
          "the last digit of the last node is changed",
          lambda path: [*path[:-1], _with_last_digit_changed(path[-1])]),
    _path("consistency-with-a-changed-first-node", CONSISTENCY, "a path with a wrong first node",
          "the last digit of the first node is changed", lambda path: [_with_last_digit_changed(path[0]), *path[1:]]),
    _path("consistency-without-the-first-node", CONSISTENCY, "a path without its first node",
          "the first node is missing", lambda path: path[1:]),
    _path("consistency-with-the-older-root-in-its-path", FROM_POWER,
          "a path that contains the older root, which the verifier already has",
          "the older root is inserted first", lambda path: [root_of(4).hex(), *path]),
    BrokenProof("consistency-from-another-root", CONSISTENCY, "L602", "the older root is wrong",
           "`from_root` is the root of two entries",
           lambda proof: {**proof, "from_root": root_of(2).hex()}),
    BrokenProof("consistency-from-another-root-of-a-full-tree", FROM_POWER, "L602",
           "the older root, of a full tree, is wrong",
           "`from_root` is the root of three entries", lambda proof: {**proof, "from_root": root_of(3).hex()}),
    BrokenProof("consistency-to-another-root", CONSISTENCY, "L602",
        "the root and the checkpoint belong to another tree",
           "root and checkpoint have the root of six entries", _other_root),
    BrokenProof("consistency-from-another-size", CONSISTENCY, "L602", "the path belongs to another older size",
        "`from_size` is 2",
           lambda proof: {**proof, "from_size": 2}),
    _path("consistency-of-equal-sizes-with-a-path", documents.consistency(5, 5), "a path between equal sizes",
          "the path contains the root", lambda _: [root_of(5).hex()]),
    BrokenProof("consistency-of-equal-sizes-with-two-roots", documents.consistency(5, 5), "L602",
           "a proof for equal sizes with different roots",
           "`from_root` is the root of four entries", lambda proof: {**proof, "from_root": root_of(4).hex()}),
    _path("consistency-from-empty-with-a-path", documents.consistency(0, 5), "a path from an empty tree",
          "the path contains the root", lambda _: [root_of(5).hex()]),
    BrokenProof("consistency-from-empty-with-another-root", documents.consistency(0, 5), "L602",
           "a wrong root for the empty tree",
           "`from_root` is zeros", lambda proof: {**proof, "from_root": "0" * 64}),
    BrokenProof("consistency-of-empty-trees-to-another-root", documents.consistency(0, 0), "L602",
           "both sizes are 0, and the root is wrong", "root and checkpoint have the root of six entries", _other_root),
    BrokenProof("consistency-of-empty-trees-from-another-root", documents.consistency(0, 0), "L602",
           "both sizes are 0, and the older root is wrong",
           "`from_root` is the root of one entry", lambda proof: {**proof, "from_root": root_of(1).hex()}),
)  # fmt: skip


def _flip_node(index: int, path: Path) -> Path:
    return [*path[:index], _with_last_digit_changed(path[index]), *path[index + 1 :]]


def sizes_near_powers() -> Iterator[BrokenProof]:
    """One proof for each size around a power of two, with one changed node; its index varies."""
    for number, size in enumerate(SIZES_NEAR_POWERS):
        base = documents.proof_of_size(size)
        index = number % len(base["path"])
        kind = base["proof"]
        yield _path(
            f"{kind}-changed-at-{size}", base, f"of {size} entries: one node of the path is wrong",
            f"the last digit of node {index} is changed",
            partial(_flip_node, index),
        )  # fmt: skip
