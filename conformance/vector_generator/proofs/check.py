"""Proofs to check (role `prove`): of every size up to 70, and with one fault."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fake_ledger.files import OTHER_RUN, checkpoint_text
from forum_conformance.note import read_public_key
from vector_generator.forum_program import ForumProgram
from vector_generator.proofs import check_malformed, check_paths, documents
from vector_generator.proofs.documents import LARGEST, Proof, text_of
from vector_generator.proofs.signing import KEY, OTHER_KEY
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector

VERIFIED_BY = (
    "written by hand; an implementation of RFC 6962's recursive definitions and LEDGER-PROOF-001 in the generator, and"
    " `forum`, give the same answer"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A proof, and the other files that the request names, by member."""

    name: str
    title: str
    proof: bytes
    codes: tuple[str, ...] = ()
    given: Mapping[str, bytes] = field(default_factory=dict)
    derived_from: str | None = None
    mutation: str | None = None
    requirements: tuple[str, ...] = ("LEDGER-PROOF-001",)


def _of_every_size() -> Iterator[Shown]:
    for size in range(1, LARGEST + 1):
        proof = documents.chosen(size)
        is_inclusion = proof["proof"] == "inclusion"
        yield _included(proof["seq"], size) if is_inclusion else _consistent(proof["from_size"], size)


def _included(seq: int, size: int) -> Shown:
    proof = documents.written(documents.inclusion(seq, size))
    return Shown(f"inclusion-{seq}-of-{size}", f"entry {seq} is among the first {size}", proof)


def _consistent(older: int, size: int) -> Shown:
    proof = documents.written(documents.consistency(older, size))
    return Shown(f"consistency-{older}-to-{size}", f"the first {older} entries are a prefix of the first {size}", proof)


def _further() -> Iterator[Shown]:
    """The positive vectors that others are derived from."""
    yield from (_included(*pair) for pair in ((5, 7), (0, 1), (6, 7), (4, 8)))
    yield from (_consistent(*pair) for pair in ((3, 7), (4, 7), (0, 5), (0, 0), (5, 5), (6, 8)))
    compact = json.dumps(documents.inclusion(5, 7), ensure_ascii=True, separators=(",", ":")).encode()
    yield Shown("inclusion-in-another-json-form", "a proof is a JSON value: spaces and escapes do not matter",
                compact.replace(b"\\n", b"\\u000a"))  # fmt: skip
    yield Shown("inclusion-with-numbers-in-another-form", "a proof is a JSON value: 7.0 is 7, and 50e-1 is 5",
                compact.replace(b'"size":7', b'"size":7.0').replace(b'"seq":5,', b'"seq":50e-1,'))  # fmt: skip


def _broken() -> Iterator[Shown]:
    for row in [*check_malformed.ROWS, *check_paths.ROWS, *check_paths.of_the_edges()]:
        proof = row.change(row.base)
        data = proof if isinstance(proof, bytes) else documents.written(proof)
        origin = _name_of(row.base)
        yield Shown(row.name, row.title, data, (row.code,), {}, f"proofs/{origin}", row.mutation)


def _name_of(proof: Proof) -> str:
    if proof["proof"] == "inclusion":
        return f"inclusion-{proof['seq']}-of-{proof['size']}"
    return f"consistency-{proof['from_size']}-to-{proof['size']}"


def _with(name: str, title: str, proof: Proof, *codes: str, mutation: str | None = None, **given: bytes) -> Shown:
    origin = f"proofs/{_name_of(proof)}" if codes else None
    requirements = ("LEDGER-PROOF-001", "LEDGER-CHECKPOINT-004" if "pin" in given else "LEDGER-CHECKPOINT-003")
    data = documents.written(proof)
    return Shown(name, title, data, tuple(codes), given, origin, mutation if codes else None, requirements)


def _signed(proof: Proof, sign: Callable[[bytes], bytes]) -> Proof:
    return {**proof, "checkpoint": sign(proof["checkpoint"].encode()).decode()}


def _beside() -> Iterator[Shown]:
    included, grown, key = documents.inclusion(5, 7), documents.consistency(3, 7), KEY.public_text
    yield _with("proof-with-its-checkpoint", "the given checkpoint is the proof's own", included,
                checkpoint=text_of(7))  # fmt: skip
    yield _with("proof-from-an-older-checkpoint", "the given checkpoint has the older size", grown,
                checkpoint=text_of(3))  # fmt: skip
    yield _with("proof-from-the-pin", "the pin has the older size", grown, pin=text_of(3))
    yield _with(
        "proof-signed", "the proof's own checkpoint is signed with the key", _signed(included, KEY.signed), key=key
    )
    yield _with("proof-with-a-signed-checkpoint", "the given checkpoint is signed with the key", included,
                checkpoint=KEY.signed(text_of(7)), key=key)  # fmt: skip


def _contradicted() -> Iterator[Shown]:
    included, grown = documents.inclusion(5, 7), documents.consistency(3, 7)
    other_run, root = checkpoint_text(7, documents.root_of(7), OTHER_RUN), documents.root_of(6)
    for name, code, title, given in (
        ("malformed-checkpoint", "L506", "checkpoint is malformed", text_of(7)[:-1]),
        ("checkpoint-of-another-run", "L507", "checkpoint belongs to another run", other_run),
        ("larger-checkpoint", "L508", "checkpoint has more entries than the proof", text_of(8)),
        ("checkpoint-with-another-root", "L509", "checkpoint has another root", checkpoint_text(7, root)),
        ("checkpoint-of-another-size", "L509", "checkpoint has a size that the proof does not cover", text_of(6)),
    ):
        yield _with(f"proof-with-a-{name}", f"the given {title}", included, code,
                    mutation="a checkpoint is given", checkpoint=given)  # fmt: skip
    yield _with("proof-from-another-older-checkpoint",
                "the given checkpoint has another root for the older size",
                grown, "L509", mutation="a checkpoint of the older size with another root is given",
                checkpoint=checkpoint_text(3, root))  # fmt: skip
    for name, code, title, given in (
        ("pin-of-another-run", "L507", "pin belongs to another run", other_run),
        ("larger-pin", "L512", "pin has more entries than the proof", text_of(8)),
        ("pin-with-another-root", "L513", "pin has another root", checkpoint_text(3, root)),
    ):
        yield _with(f"proof-with-a-{name}", f"the {title}", grown, code, mutation="a pin is given", pin=given)


def _not_signed() -> Iterator[Shown]:
    included, key = documents.inclusion(5, 7), KEY.public_text
    yield _with("proof-unsigned", "a key is given, but the proof's checkpoint is unsigned", included, "L510",
                mutation="a key is given", key=key)  # fmt: skip
    signed = _signed(included, OTHER_KEY.signed)
    yield _with("proof-signed-by-another-key", "the proof's checkpoint is signed with another key", signed, "L510",
                mutation="the checkpoint is signed with another key than the given one", key=key)  # fmt: skip
    yield _with("proof-with-an-unsigned-checkpoint", "a key is given, but the given checkpoint is unsigned",
                included,
                "L510", mutation="a key and an unsigned checkpoint are given", checkpoint=text_of(7),
                key=key)  # fmt: skip


def _doubly_wrong() -> Iterator[Shown]:
    included, other_run = documents.inclusion(5, 7), checkpoint_text(7, documents.root_of(7), OTHER_RUN)
    broken = {**included, "path": [*included["path"][:-1], "0" * 64]}
    yield _with("proof-with-a-wrong-path-and-another-run",
                "a wrong path and a checkpoint of another run are both reported",
                broken,
                "L507", "L602", mutation="the last node is zeros, and a checkpoint of another run is given",
                checkpoint=other_run)  # fmt: skip


def _given() -> Iterator[Shown]:
    """The given checkpoint, pin and key must agree with the proof."""
    yield from _beside()
    yield from _contradicted()
    yield from _not_signed()
    yield from _doubly_wrong()


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    sized = list(_of_every_size())
    names = {shown.name for shown in sized}
    shown = [*sized, *(further for further in _further() if further.name not in names), *_broken(), *_given()]
    for one in shown:
        for who, codes in (("the generator", _said_here(one)), ("forum", _said_by_forum(one, forum))):
            if codes != sorted(one.codes):
                raise BadVector(f"proofs/{one.name}", f"{who} says {codes}, and not {sorted(one.codes)}")
        yield _vector(one)


def _said_here(shown: Shown) -> list[str]:
    key = read_public_key(shown.given["key"].decode()) if "key" in shown.given else None
    return documents.codes_of(shown.proof, shown.given.get("checkpoint"), key, shown.given.get("pin"))


def _said_by_forum(shown: Shown, forum: ForumProgram) -> list[str]:
    folder = forum.fresh_folder()
    for name, content in {"input": shown.proof, **shown.given}.items():
        (folder / name).write_bytes(content)
    paths = {name: folder / name for name in ("input", *shown.given)}
    answer = forum.ask("prove", action="check", **paths)
    if (answer["verdict"] == "valid") != (not answer["codes"]):
        raise BadVector(f"proofs/{shown.name}", f"forum says {answer}")
    return sorted(answer["codes"])


def _vector(shown: Shown) -> Vector:
    files = {"checkpoint": "checkpoint", "key": "key.pub", "pin": "pin"}
    return Vector(
        id=f"proofs/{shown.name}",
        title=shown.title,
        role="prove",
        requirements=shown.requirements,
        request={"action": "check", "input": "proof.json", **{name: files[name] for name in shown.given}},
        expected={"verdict": "invalid" if shown.codes else "valid", "codes": sorted(shown.codes)},
        verified_by=VERIFIED_BY,
        derived_from=shown.derived_from,
        mutation=shown.mutation,
        files={"proof.json": shown.proof, **{files[name]: content for name, content in shown.given.items()}},
    )
