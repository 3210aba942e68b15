"""Proofs that do not match their schema, or contradict themselves (L601)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fake_ledger.files import OTHER_RUN, canonical
from vector_generator.proofs import documents
from vector_generator.proofs.documents import Proof

INCLUSION = documents.inclusion(5, 7)
CONSISTENCY = documents.consistency(3, 7)


@dataclass(frozen=True, slots=True)
class BrokenProof:
    name: str
    base: Proof
    code: str
    title: str
    mutation: str
    change: Callable[[Proof], Proof | bytes]


def _member_case(name: str, base: Proof, member: str, value: Any, title: str, mutation: str) -> BrokenProof:
    return BrokenProof(f"proof-{name}", base, "L601", title, mutation, lambda proof: {**proof, member: value})


def _missing_case(base: Proof, member: str) -> BrokenProof:
    return BrokenProof(
        f"proof-without-{member.replace('_', '-')}", base, "L601", f"a proof without `{member}`",
            f"`{member}` is missing",
        lambda proof: {name: value for name, value in proof.items() if name != member},
    )  # fmt: skip


def _bytes_case(name: str, title: str, change: Callable[[bytes], bytes]) -> BrokenProof:
    return BrokenProof(
        f"proof-{name}", INCLUSION, "L601", title, title, lambda proof: change(documents.proof_bytes(proof))
    )


def _entry_case(name: str, title: str, change: Callable[[dict[str, Any]], object]) -> BrokenProof:
    """A proof whose entry is replaced by a changed one."""
    return BrokenProof(
        f"proof-{name}", INCLUSION, "L601", title, f"the entry is changed: {title}",
        lambda proof: {**proof, "entry": canonical(change(json.loads(proof["entry"]))).decode()},
    )  # fmt: skip


def _line_case(name: str, title: str, text: bytes) -> BrokenProof:
    """Replaces the fact `n` of the entry, which is 5, with a value that no line may contain."""
    return _member_case(
        f"of-an-entry-with-{name}", INCLUSION, "entry", INCLUSION["entry"].replace('"n":5', f'"n":{text.decode()}'),
        f"the entry contains {title}", f"`n` of the entry is {title}",
    )  # fmt: skip


MISSING = (
    *(_missing_case(INCLUSION, member) for member in ("format", "proof", "run", "size", "root", "path", "checkpoint")),
    *(_missing_case(INCLUSION, member) for member in ("seq", "entry")),
    *(_missing_case(CONSISTENCY, member) for member in ("from_size", "from_root")),
)

FORMS = (
    _bytes_case("that-is-not-json", "a document that is not JSON", lambda data: data[:-3]),
    _bytes_case("that-is-a-list", "a document that is a list", lambda data: b"[" + data + b"]"),
    _bytes_case("with-a-repeated-key", "a document that repeats a key with the same value",
           lambda data: data.replace(b"{", b'{"format":1,', 1)),
    _bytes_case("with-a-byte-order-mark", "a document with a byte order mark", lambda data: b"\xef\xbb\xbf" + data),
    _member_case("with-an-extra-member", INCLUSION, "note", "x", "a proof with an extra member",
         "`note` is added"),
    _member_case("of-another-format", INCLUSION, "format", 2, "a proof with another format number", "`format` is 2"),
    _member_case("of-an-unknown-type", INCLUSION, "proof", "absence", "a proof of an unknown type",
         "`proof` is `absence`"),
    _member_case("of-inclusion-with-a-consistency-member", INCLUSION, "from_size", 3,
         "an inclusion proof with a member of a consistency proof",
         "`from_size` is added"),
    _member_case("of-consistency-with-an-entry", CONSISTENCY, "seq", 3,
        "a consistency proof with a member of an inclusion proof",
         "`seq` is added"),
    _member_case("with-a-path-in-upper-case", INCLUSION, "path", [node.upper() for node in INCLUSION["path"]],
         "a path in upper case", "the path is in upper case"),
    _member_case("with-a-short-node", INCLUSION, "path", [INCLUSION["path"][0][:-2], *INCLUSION["path"][1:]],
        "a node of 31 bytes",
         "the first node has 31 bytes"),
    _member_case("with-a-path-in-a-string", INCLUSION, "path", "".join(INCLUSION["path"]), "a path that is not a list",
         "the nodes are joined in one string"),
    _member_case("with-a-path-too-long", INCLUSION, "path", ["0" * 64] * 129,
        "a path with more nodes than any tree has levels",
         "the path has 129 nodes"),
    _member_case("with-a-negative-seq", INCLUSION, "seq", -1, "a negative seq", "`seq` is -1"),
    _member_case("with-a-size-in-a-string", INCLUSION, "size", "7", "a size that is a string", "`size` is a string"),
    _member_case("with-a-fraction", CONSISTENCY, "from_size", 3.5, "a size with a fraction", "`from_size` is 3.5"),
)  # fmt: skip

CONTRADICTIONS = (
    _member_case("of-another-size-than-its-checkpoint", INCLUSION, "size", 8,
         "the size is not the one in the proof's checkpoint",
         "`size` is 8"),
    _member_case("of-another-root-than-its-checkpoint", INCLUSION, "root", "0" * 64,
         "the root is not the one in the proof's checkpoint",
         "`root` is zeros"),
    _member_case("of-another-run-than-its-checkpoint", CONSISTENCY, "run", OTHER_RUN,
         "the run is not the one in the proof's checkpoint",
         "`run` is another"),
    _member_case("with-its-checkpoint-of-another-size", CONSISTENCY, "checkpoint",
        documents.checkpoint_of_size(8).decode(),
         "the proof's checkpoint has another size", "the checkpoint is of 8 entries"),
    _member_case("with-its-checkpoint-malformed", INCLUSION, "checkpoint", INCLUSION["checkpoint"][:-1],
         "the proof's checkpoint is malformed",
         "the checkpoint's last LF is missing"),
    _member_case("with-a-longer-checkpoint", INCLUSION, "checkpoint", INCLUSION["checkpoint"] + "more\n",
         "the proof's checkpoint has an extra line", "a line is appended to the checkpoint"),
    BrokenProof("proof-of-an-entry-beyond-its-size", documents.inclusion(6, 7), "L601", "the seq is not below the size",
           "`seq` is 7, and the entry is entry 7",
           lambda proof: {**proof, "seq": 7, "entry": documents.lines()[7].decode()}),
    _member_case("of-another-seq-than-its-entry", INCLUSION, "seq", 4, "the seq differs from the entry's",
        "`seq` is 4"),
    _member_case("of-consistency-backwards", CONSISTENCY, "from_size", 8, "the older size is larger",
        "`from_size` is 8"),
    _entry_case("of-an-entry-of-another-run", "the entry belongs to another run", lambda entry: {**entry,
        "run": OTHER_RUN}),
    _entry_case("of-an-entry-in-a-list", "the entry is a list", lambda entry: [entry]),
    _member_case("of-an-entry-that-is-not-json", INCLUSION, "entry", INCLUSION["entry"][:-1], "the entry is not JSON",
         "the entry's last character is missing"),
    _line_case("nan", "NaN, which is not JSON", b"NaN"),
    _line_case("a-lone-surrogate", "an escaped lone surrogate", b'"\\ud800"'),
    _line_case("excessive-depth", "lists nested 65 levels deep, counting the entry", b"[" * 63 + b"]" * 63),
    BrokenProof("proof-of-an-entry-with-a-boolean-seq", documents.inclusion(0, 1), "L601",
           "the entry's seq is false, which is not 0", "`seq` of the entry is false",
           lambda proof: {**proof, "entry": proof["entry"].replace('"seq":0', '"seq":false')}),
    _member_case("of-an-entry-with-a-line-feed", INCLUSION, "entry", INCLUSION["entry"] + "\n",
         "the entry's line includes its LF",
         "LF is appended to the entry"),
)  # fmt: skip

ROWS = (*MISSING, *FORMS, *CONTRADICTIONS)
