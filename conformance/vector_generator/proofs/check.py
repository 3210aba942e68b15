"""Proofs to check (role `prove`): valid ones of every size up to 70, and proofs with one fault."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fake_ledger.files import OTHER_RUN, checkpoint_text
from forum_conformance.note import read_public_key
from vector_generator.forum_program import ForumProgram
from vector_generator.proofs import check_malformed, check_paths, documents
from vector_generator.proofs.documents import MAX_SIZE, Proof, checkpoint_of_size
from vector_generator.proofs.signing import KEY, OTHER_KEY
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector

VERIFIED_BY = (
    "written by hand; an implementation of RFC 6962's recursive definitions and LEDGER-PROOF-001 in the generator, and"
    " `forum`, give the same answer"
)


@dataclass(frozen=True, slots=True)
class ProofCase:
    """A proof to check, and the codes that the verifier must report."""

    name: str
    title: str
    proof: bytes
    codes: tuple[str, ...] = ()
    given_files: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of the other files that the request names, by member of the request."""
    derived_from: str | None = None
    mutation: str | None = None
    requirements: tuple[str, ...] = ("LEDGER-PROOF-001",)


def _sized_cases() -> Iterator[ProofCase]:
    for size in range(1, MAX_SIZE + 1):
        proof = documents.proof_of_size(size)
        is_inclusion = proof["proof"] == "inclusion"
        yield _inclusion_case(proof["seq"], size) if is_inclusion else _consistency_case(proof["from_size"], size)


def _inclusion_case(seq: int, size: int) -> ProofCase:
    proof = documents.proof_bytes(documents.inclusion(seq, size))
    return ProofCase(f"inclusion-{seq}-of-{size}", f"an inclusion proof of entry {seq} for size {size}", proof)


def _consistency_case(older: int, size: int) -> ProofCase:
    proof = documents.proof_bytes(documents.consistency(older, size))
    return ProofCase(f"consistency-{older}-to-{size}", f"a consistency proof from size {older} to size {size}", proof)


def _base_cases() -> Iterator[ProofCase]:
    """The positive vectors that others are derived from."""
    yield from (_inclusion_case(*pair) for pair in ((5, 7), (0, 1), (6, 7), (4, 8)))
    yield from (_consistency_case(*pair) for pair in ((3, 7), (4, 7), (0, 5), (0, 0), (5, 5), (6, 8)))
    compact = json.dumps(documents.inclusion(5, 7), ensure_ascii=True, separators=(",", ":")).encode()
    yield ProofCase("inclusion-in-another-json-form", "a proof is a JSON value: spaces and escapes do not matter",
                compact.replace(b"\\n", b"\\u000a"))  # fmt: skip
    yield ProofCase("inclusion-with-numbers-in-another-form", "a proof is a JSON value: 7.0 is 7, and 50e-1 is 5",
                compact.replace(b'"size":7', b'"size":7.0').replace(b'"seq":5,', b'"seq":50e-1,'))  # fmt: skip


def _broken_cases() -> Iterator[ProofCase]:
    for row in [*check_malformed.ROWS, *check_paths.ROWS, *check_paths.sizes_near_powers()]:
        proof = row.change(row.base)
        data = proof if isinstance(proof, bytes) else documents.proof_bytes(proof)
        origin = _name_of(row.base)
        yield ProofCase(row.name, row.title, data, (row.code,), {}, f"proofs/{origin}", row.mutation)


def _name_of(proof: Proof) -> str:
    if proof["proof"] == "inclusion":
        return f"inclusion-{proof['seq']}-of-{proof['size']}"
    return f"consistency-{proof['from_size']}-to-{proof['size']}"


def _given_case(
    name: str, title: str, proof: Proof, *codes: str, mutation: str | None = None, **given: bytes
) -> ProofCase:
    origin = f"proofs/{_name_of(proof)}" if codes else None
    requirements = ("LEDGER-PROOF-001", "LEDGER-CHECKPOINT-004" if "pin" in given else "LEDGER-CHECKPOINT-003")
    data = documents.proof_bytes(proof)
    return ProofCase(name, title, data, tuple(codes), given, origin, mutation if codes else None, requirements)


def _signed(proof: Proof, sign: Callable[[bytes], bytes]) -> Proof:
    return {**proof, "checkpoint": sign(proof["checkpoint"].encode()).decode()}


def _consistent_files() -> Iterator[ProofCase]:
    inclusion, consistency, key = documents.inclusion(5, 7), documents.consistency(3, 7), KEY.public_text
    yield _given_case("proof-with-its-checkpoint", "the given checkpoint is the proof's own", inclusion,
                checkpoint=checkpoint_of_size(7))  # fmt: skip
    yield _given_case("proof-from-an-older-checkpoint", "the given checkpoint has the older size", consistency,
                checkpoint=checkpoint_of_size(3))  # fmt: skip
    yield _given_case("proof-from-the-pin", "the pin has the older size", consistency, pin=checkpoint_of_size(3))
    yield _given_case(
        "proof-signed", "the proof's own checkpoint is signed with the key", _signed(inclusion, KEY.signed), key=key
    )
    yield _given_case("proof-with-a-signed-checkpoint", "the given checkpoint is signed with the key", inclusion,
                checkpoint=KEY.signed(checkpoint_of_size(7)), key=key)  # fmt: skip


def _contradicting_files() -> Iterator[ProofCase]:
    inclusion, consistency = documents.inclusion(5, 7), documents.consistency(3, 7)
    other_run, root = checkpoint_text(7, documents.root_of(7), OTHER_RUN), documents.root_of(6)
    for name, code, title, given in (
        ("malformed-checkpoint", "L506", "checkpoint is malformed", checkpoint_of_size(7)[:-1]),
        ("checkpoint-of-another-run", "L507", "checkpoint belongs to another run", other_run),
        ("larger-checkpoint", "L508", "checkpoint has more entries than the proof", checkpoint_of_size(8)),
        ("checkpoint-with-another-root", "L509", "checkpoint has another root", checkpoint_text(7, root)),
        (
            "checkpoint-of-another-size",
            "L509",
            "checkpoint has a size that the proof does not cover",
            checkpoint_of_size(6),
        ),
    ):
        yield _given_case(f"proof-with-a-{name}", f"the given {title}", inclusion, code,
                    mutation="a checkpoint is given", checkpoint=given)  # fmt: skip
    yield _given_case("proof-from-another-older-checkpoint",
                "the given checkpoint has another root for the older size",
                consistency, "L509", mutation="a checkpoint of the older size with another root is given",
                checkpoint=checkpoint_text(3, root))  # fmt: skip
    for name, code, title, given in (
        ("pin-of-another-run", "L507", "pin belongs to another run", other_run),
        ("larger-pin", "L512", "pin has more entries than the proof", checkpoint_of_size(8)),
        ("pin-with-another-root", "L513", "pin has another root", checkpoint_text(3, root)),
    ):
        yield _given_case(
            f"proof-with-a-{name}", f"the {title}", consistency, code, mutation="a pin is given", pin=given
        )


def _unsigned_checkpoints() -> Iterator[ProofCase]:
    inclusion, key = documents.inclusion(5, 7), KEY.public_text
    yield _given_case("proof-unsigned", "a key is given, but the proof's checkpoint is unsigned", inclusion, "L510",
                mutation="a key is given", key=key)  # fmt: skip
    signed = _signed(inclusion, OTHER_KEY.signed)
    yield _given_case("proof-signed-by-another-key", "the proof's checkpoint is signed with another key", signed,
        "L510",
                mutation="the checkpoint is signed with a different key than the given one", key=key)  # fmt: skip
    yield _given_case("proof-with-an-unsigned-checkpoint", "a key is given, but the given checkpoint is unsigned",
                inclusion,
                "L510", mutation="a key and an unsigned checkpoint are given", checkpoint=checkpoint_of_size(7),
                key=key)  # fmt: skip


def _two_faults() -> Iterator[ProofCase]:
    inclusion, other_run = documents.inclusion(5, 7), checkpoint_text(7, documents.root_of(7), OTHER_RUN)
    broken = {**inclusion, "path": [*inclusion["path"][:-1], "0" * 64]}
    yield _given_case("proof-with-a-wrong-path-and-another-run",
                "a wrong path and a checkpoint of another run are both reported",
                broken,
                "L507", "L602", mutation="the last node is zeros, and a checkpoint of another run is given",
                checkpoint=other_run)  # fmt: skip


def _cases_with_given_files() -> Iterator[ProofCase]:
    """Proofs with a given checkpoint, pin or key, which must agree with the proof."""
    yield from _consistent_files()
    yield from _contradicting_files()
    yield from _unsigned_checkpoints()
    yield from _two_faults()


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    sized = list(_sized_cases())
    names = {case.name for case in sized}
    others = (case for case in _base_cases() if case.name not in names)
    cases = [*sized, *others, *_broken_cases(), *_cases_with_given_files()]
    for case in cases:
        for program, codes in (("the generator", _generator_codes(case)), ("forum", _forum_codes(case, forum))):
            if codes != sorted(case.codes):
                raise BadVector(f"proofs/{case.name}", f"{program} reports {codes} instead of {sorted(case.codes)}")
        yield _vector(case)


def _generator_codes(case: ProofCase) -> list[str]:
    key = read_public_key(case.given_files["key"].decode()) if "key" in case.given_files else None
    return documents.finding_codes(case.proof, case.given_files.get("checkpoint"), key, case.given_files.get("pin"))


def _forum_codes(case: ProofCase, forum: ForumProgram) -> list[str]:
    folder = forum.fresh_folder()
    for name, content in {"input": case.proof, **case.given_files}.items():
        (folder / name).write_bytes(content)
    paths = {name: folder / name for name in ("input", *case.given_files)}
    answer = forum.ask("prove", action="check", **paths)
    if (answer["verdict"] == "valid") != (not answer["codes"]):
        raise BadVector(f"proofs/{case.name}", f"the verdict and the codes of forum contradict each other: {answer}")
    return sorted(answer["codes"])


def _vector(case: ProofCase) -> Vector:
    files = {"checkpoint": "checkpoint", "key": "key.pub", "pin": "pin"}
    return Vector(
        id=f"proofs/{case.name}",
        title=case.title,
        role="prove",
        requirements=case.requirements,
        request={"action": "check", "input": "proof.json", **{name: files[name] for name in case.given_files}},
        expected={"verdict": "invalid" if case.codes else "valid", "codes": sorted(case.codes)},
        verified_by=VERIFIED_BY,
        derived_from=case.derived_from,
        mutation=case.mutation,
        files={"proof.json": case.proof, **{files[name]: content for name, content in case.given_files.items()}},
    )
