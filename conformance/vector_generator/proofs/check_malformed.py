"""Proofs that do not match their schema, or contradict themselves (L601)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fake_ledger.files import OTHER_RUN, canonical
from vector_generator.proofs import documents
from vector_generator.proofs.documents import Proof

INCLUDED = documents.inclusion(5, 7)
GROWN = documents.consistency(3, 7)


@dataclass(frozen=True, slots=True)
class Broken:
    name: str
    base: Proof
    code: str
    title: str
    mutation: str
    change: Callable[[Proof], Proof | bytes]


def _set(name: str, base: Proof, member: str, value: Any, title: str, mutation: str) -> Broken:
    return Broken(f"proof-{name}", base, "L601", title, mutation, lambda proof: {**proof, member: value})


def _without(base: Proof, member: str) -> Broken:
    return Broken(
        f"proof-without-{member.replace('_', '-')}", base, "L601", f"a proof has no `{member}`",
            f"`{member}` is missing",
        lambda proof: {name: value for name, value in proof.items() if name != member},
    )  # fmt: skip


def _bytes(name: str, title: str, change: Callable[[bytes], bytes]) -> Broken:
    return Broken(f"proof-{name}", INCLUDED, "L601", title, title, lambda proof: change(documents.written(proof)))


def _entry(name: str, title: str, change: Callable[[dict[str, Any]], object]) -> Broken:
    """The line of another entry, or of none."""
    return Broken(
        f"proof-{name}", INCLUDED, "L601", title, f"the entry is changed: {title}",
        lambda proof: {**proof, "entry": canonical(change(json.loads(proof["entry"]))).decode()},
    )  # fmt: skip


def _line(name: str, title: str, text: bytes) -> Broken:
    """Replaces the fact `n` of the entry, which is 5, with a value that no line may contain."""
    return _set(
        f"of-an-entry-with-{name}", INCLUDED, "entry", INCLUDED["entry"].replace('"n":5', f'"n":{text.decode()}'),
        f"the entry contains {title}", f"`n` of the entry is {title}",
    )  # fmt: skip


MISSING = (
    *(_without(INCLUDED, member) for member in ("format", "proof", "run", "size", "root", "path", "checkpoint")),
    *(_without(INCLUDED, member) for member in ("seq", "entry")),
    *(_without(GROWN, member) for member in ("from_size", "from_root")),
)

FORMS = (
    _bytes("that-is-not-json", "a document that is not JSON", lambda data: data[:-3]),
    _bytes("in-a-list", "a document that is a list", lambda data: b"[" + data + b"]"),
    _bytes("with-a-repeated-key", "a document that repeats a key with the same value",
           lambda data: data.replace(b"{", b'{"format":1,', 1)),
    _bytes("with-a-byte-order-mark", "a document with a byte order mark", lambda data: b"\xef\xbb\xbf" + data),
    _set("with-an-extra-member", INCLUDED, "note", "x", "a proof has an extra member",
         "there is a `note`"),
    _set("of-another-format", INCLUDED, "format", 2, "a proof with another format number", "`format` is 2"),
    _set("of-an-unknown-type", INCLUDED, "proof", "absence", "a proof of an unknown type",
         "`proof` is `absence`"),
    _set("of-inclusion-with-a-consistency-member", INCLUDED, "from_size", 3,
         "an inclusion proof with a member of a consistency proof",
         "there is a `from_size`"),
    _set("of-consistency-with-an-entry", GROWN, "seq", 3, "a consistency proof with a member of an inclusion proof",
         "there is a `seq`"),
    _set("with-a-path-in-upper-case", INCLUDED, "path", [node.upper() for node in INCLUDED["path"]],
         "a path in upper case", "the path is in upper case"),
    _set("with-a-short-node", INCLUDED, "path", [INCLUDED["path"][0][:-2], *INCLUDED["path"][1:]], "a node of 31 bytes",
         "the first node has 31 bytes"),
    _set("with-a-path-in-a-string", INCLUDED, "path", "".join(INCLUDED["path"]), "a path that is not a list",
         "the nodes are joined in one string"),
    _set("with-a-path-too-long", INCLUDED, "path", ["0" * 64] * 129, "a path with more nodes than any tree has levels",
         "the path has 129 nodes"),
    _set("with-a-negative-seq", INCLUDED, "seq", -1, "a seq is negative", "`seq` is -1"),
    _set("with-a-size-in-a-string", INCLUDED, "size", "7", "a size is a string", "`size` is a string"),
    _set("with-a-fraction", GROWN, "from_size", 3.5, "a size with a fraction", "`from_size` is 3.5"),
)  # fmt: skip

CONTRADICTIONS = (
    _set("of-another-size-than-its-checkpoint", INCLUDED, "size", 8,
         "the size is not the one in the proof's checkpoint",
         "`size` is 8"),
    _set("of-another-root-than-its-checkpoint", INCLUDED, "root", "0" * 64,
         "the root is not the one in the proof's checkpoint",
         "`root` is zeros"),
    _set("of-another-run-than-its-checkpoint", GROWN, "run", OTHER_RUN,
         "the run is not the one in the proof's checkpoint",
         "`run` is another"),
    _set("with-its-checkpoint-of-another-size", GROWN, "checkpoint", documents.text_of(8).decode(),
         "the proof's checkpoint has another size", "the checkpoint is of 8 entries"),
    _set("with-its-checkpoint-malformed", INCLUDED, "checkpoint", INCLUDED["checkpoint"][:-1],
         "the proof's checkpoint is malformed",
         "the checkpoint's last LF is missing"),
    _set("with-a-longer-checkpoint", INCLUDED, "checkpoint", INCLUDED["checkpoint"] + "more\n",
         "the proof's checkpoint has an extra line", "a line follows in the checkpoint"),
    Broken("proof-of-an-entry-beyond-its-size", documents.inclusion(6, 7), "L601", "the seq is not below the size",
           "`seq` and the entry are those of seq 7",
           lambda proof: {**proof, "seq": 7, "entry": documents.lines()[7].decode()}),
    _set("of-another-seq-than-its-entry", INCLUDED, "seq", 4, "the seq is not the entry's", "`seq` is 4"),
    _set("of-consistency-backwards", GROWN, "from_size", 8, "the older size is larger", "`from_size` is 8"),
    _entry("of-an-entry-of-another-run", "the entry belongs to another run", lambda entry: {**entry, "run": OTHER_RUN}),
    _entry("of-an-entry-in-a-list", "the entry is a list", lambda entry: [entry]),
    _set("of-an-entry-that-is-not-json", INCLUDED, "entry", INCLUDED["entry"][:-1], "the entry is not JSON",
         "the entry's last character is missing"),
    _line("nan", "NaN, which is not JSON", b"NaN"),
    _line("a-lone-surrogate", "an escaped lone surrogate", b'"\\ud800"'),
    _line("excessive-depth", "lists nested 65 levels deep, counting the entry", b"[" * 63 + b"]" * 63),
    Broken("proof-of-an-entry-with-a-boolean-seq", documents.inclusion(0, 1), "L601",
           "the entry's seq is false, which is not 0", "`seq` of the entry is false",
           lambda proof: {**proof, "entry": proof["entry"].replace('"seq":0', '"seq":false')}),
    _set("of-an-entry-with-a-line-feed", INCLUDED, "entry", INCLUDED["entry"] + "\n",
         "the entry's line includes its LF",
         "an LF follows in the entry"),
)  # fmt: skip

ROWS = (*MISSING, *FORMS, *CONTRADICTIONS)
