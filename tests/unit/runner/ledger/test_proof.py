"""Proof documents: their format, and all findings about invalid ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry, Resource

from fake_ledger.files import RUN
from fake_ledger.ledger_builder import LedgerBuilder
from forum_runner.ledger.checkpoint import Checkpoint
from forum_runner.ledger.layout import leaf_hash
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.ledger.merkle_path import ConsistencyPath, InclusionPath
from forum_runner.ledger.note import SignerKey
from forum_runner.ledger.proof import ConsistencyProof, InclusionProof, Proof, check_proof, read_proof, serialize_proof
from forum_runner.ledger.verification.report import Verdict

pytestmark = pytest.mark.requirement("LEDGER-PROOF-001")

SCHEMAS = Path(__file__).parents[4] / "schemas" / "v1"
OTHER_RUN = "01936b2e-4d10-7a3c-9f00-000000000000"


def notes(count: int) -> list[bytes]:
    builder = LedgerBuilder()
    for number in range(count):
        builder.add("x-note", {"n": number})
    return builder.lines()


LINES = notes(12)
KEY = SignerKey("witness", bytes(32))
Change = Callable[[dict[str, Any]], object]


def checkpoint_of(size: int) -> Checkpoint:
    tree = MerkleTree()
    for line in LINES[:size]:
        tree.add(leaf_hash(line))
    return Checkpoint(RUN, size, tree.root())


def inclusion(seq: int, size: int) -> InclusionProof:
    builder = InclusionPath(seq)
    for line in LINES[:size]:
        builder.add(leaf_hash(line))
    return InclusionProof(checkpoint_of(size), seq, LINES[seq], builder.hashes())


def consistency(from_size: int, size: int) -> ConsistencyProof:
    builder = ConsistencyPath(from_size)
    for line in LINES[:size]:
        builder.add(leaf_hash(line))
    return ConsistencyProof(checkpoint_of(size), from_size, checkpoint_of(from_size).root, builder.hashes())


def document_bytes(proof: Proof) -> bytes:
    return serialize_proof(proof, proof.checkpoint.note())


def edited(proof: Proof, change: Change) -> bytes:
    document = json.loads(document_bytes(proof))
    change(document)
    return json.dumps(document).encode()


def codes(data: bytes, **options: Any) -> list[str]:
    return [finding.code for finding in check_proof(data, **options).findings]


@pytest.mark.parametrize("proof", [inclusion(3, 7), inclusion(0, 1), consistency(3, 7), consistency(0, 5)])
def test_a_proof_matches_its_schema_and_is_canonical(proof: Proof) -> None:
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )

    data = document_bytes(proof)

    document = json.loads(data)
    jsonschema.Draft202012Validator(schemas["proof.schema.json"], registry=registry).validate(document)
    assert data == json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


@given(st.data(), st.integers(1, len(LINES)))
def test_every_written_proof_is_read_back_unchanged_and_is_valid(data: st.DataObject, size: int) -> None:
    seq, from_size = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size))

    for proof in (inclusion(seq, size), consistency(from_size, size)):
        assert read_proof(document_bytes(proof)) == (proof, proof.checkpoint.note())
        report = check_proof(document_bytes(proof))
        assert (report.proof, report.findings, report.verdict) == (proof, (), Verdict.VALID)


def test_a_proof_need_not_be_canonical_to_be_valid() -> None:
    document = json.loads(document_bytes(inclusion(3, 7)))
    document["seq"], document["size"] = 3.0, 7.0

    assert codes(json.dumps(document, indent=2).encode()) == []


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the proof is malformed: it is not JSON: "),
        (b"\xff", "the proof is malformed: it is not JSON: "),
        (b"[]", "the proof is malformed: it does not match its schema: "),
        (b"{}", "the proof is malformed: it does not match its schema: "),
        (b'{"format":NaN}', "the proof is malformed: it is not JSON: "),
        (b"[" * 100_000, "the proof is malformed: it is not JSON: "),
    ],
)
def test_a_document_that_is_not_a_proof_is_malformed(data: bytes, sentence: str) -> None:
    (finding,) = check_proof(data).findings

    assert finding.code == "L601"
    assert finding.sentence.startswith(sentence)


def set_to(name: str, value: Any) -> Change:
    return lambda document: document.update({name: value})


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def entry_with(**members: Any) -> Change:
    return set_to("entry", json.dumps({**json.loads(LINES[3]), **members}))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda document: document.pop("entry"), "it does not match its schema"),
        (set_to("from_size", 3), "it does not match its schema"),
        (set_to("more", 1), "it does not match its schema"),
        (set_to("format", 2), "it does not match its schema"),
        (set_to("seq", -1), "it does not match its schema"),
        (set_to("seq", True), "it does not match its schema"),
        (set_to("path", ["0" * 63]), "it does not match its schema"),
        (set_to("path", ["A" * 64]), "it does not match its schema"),
        (set_to("root", "0" * 64 + "\n"), "it does not match its schema"),
        (set_to("run", OTHER_RUN), "its run, size or root differs from its checkpoint"),
        (set_to("size", 8), "its run, size or root differs from its checkpoint"),
        (set_to("root", "0" * 64), "its run, size or root differs from its checkpoint"),
        (set_to("checkpoint", "forum\n"), "its checkpoint is malformed: its text is not three lines"),
        (set_to("checkpoint", checkpoint_of(6).note().text), "its run, size or root differs from its checkpoint"),
        (set_to("seq", 7), "its seq is 7, but the size of its checkpoint is 7"),
        (set_to("seq", 4), "its run or seq differs from its entry"),
        (set_to("entry", "x"), "its entry is malformed: the line is not JSON"),
        (set_to("entry", "[]"), "its entry is malformed: the line is JSON, but not an object"),
        (set_to("entry", LINES[3].decode() + "\n"), "its entry has more than one line"),
        (entry_with(data=float("nan")), "its entry is malformed: the line is not JSON"),
        (entry_with(data="\ud800"), "its entry is malformed: the line contains a lone surrogate"),
        (entry_with(data=nested(64)), "its entry is malformed: the line is nested more than 64 levels deep"),
        (entry_with(run=OTHER_RUN), "its run or seq differs from its entry"),
        (entry_with(seq=4), "its run or seq differs from its entry"),
    ],
)
def test_an_inclusion_proof_that_contradicts_itself_is_malformed(change: Change, sentence: str) -> None:
    report = check_proof(edited(inclusion(3, 7), change))

    assert [finding.code for finding in report.findings] == ["L601"]
    assert report.findings[0].sentence.startswith(f"the proof is malformed: {sentence}")
    assert (report.proof, report.verdict) == (None, Verdict.INVALID)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda document: document.pop("from_root"), "it does not match its schema"),
        (set_to("seq", 3), "it does not match its schema"),
        (set_to("from_size", 8), "its from_size is 8, larger than its size of 7"),
        (set_to("root", "0" * 64), "its run, size or root differs from its checkpoint"),
    ],
)
def test_a_consistency_proof_that_contradicts_itself_is_malformed(change: Change, sentence: str) -> None:
    (finding,) = check_proof(edited(consistency(3, 7), change)).findings

    assert finding.code == "L601"
    assert finding.sentence.startswith(f"the proof is malformed: {sentence}")


def test_the_path_is_checked_even_if_the_entry_is_not_a_valid_entry() -> None:
    deep, long = "[" * 62 + "]" * 62, "9" * 5_000
    odd = f'{{"seq":30e-1,"run":"{RUN}","data":[{deep},1e400,{long}]}}'

    assert codes(edited(inclusion(3, 7), set_to("entry", odd))) == ["L602"]


@pytest.mark.parametrize("key", ["format", "\\u0066ormat"])
def test_a_duplicate_key_is_malformed(key: str) -> None:
    data = document_bytes(inclusion(3, 7)).replace(b"{", b'{"%b":1,' % key.encode(), 1)

    (finding,) = check_proof(data).findings

    assert (finding.code, finding.sentence) == ("L601", "the proof is malformed: duplicate key 'format'")


@pytest.mark.parametrize("value", [False, True])
def test_a_boolean_is_not_a_seq(value: bool) -> None:
    seq = int(value)
    entry = json.dumps({**json.loads(LINES[seq]), "seq": value})

    assert codes(edited(inclusion(seq, 7), set_to("entry", entry))) == ["L601"]


@pytest.mark.parametrize(
    ("proof", "change", "sentence"),
    [
        (
            inclusion(3, 7),
            set_to("path", []),
            f"the enclosed line is entry 3 of run {RUN} (checkpoint of its first 7 entries)",
        ),
        (
            inclusion(3, 7),
            entry_with(at="2026-11-15T10:00:00.000000Z"),
            f"the enclosed line is entry 3 of run {RUN} (checkpoint of its first 7 entries)",
        ),
        (consistency(3, 7), set_to("path", []), f"the ledger of run {RUN} grew from 3 to 7 entries by appending only"),
        (
            consistency(3, 7),
            set_to("from_size", 4),
            f"the ledger of run {RUN} grew from 4 to 7 entries by appending only",
        ),
        (
            consistency(7, 7),
            set_to("from_root", "0" * 64),
            f"the ledger of run {RUN} grew from 7 to 7 entries by appending only",
        ),
        (
            consistency(0, 7),
            set_to("from_root", "0" * 64),
            f"the ledger of run {RUN} grew from 0 to 7 entries by appending only",
        ),
        (
            ConsistencyProof(Checkpoint(RUN, 0, bytes(32)), 0, checkpoint_of(0).root, ()),
            lambda _: None,
            f"the ledger of run {RUN} grew from 0 to 0 entries by appending only",
        ),
    ],
)
def test_a_path_that_does_not_lead_to_the_root_is_a_finding(proof: Proof, change: Change, sentence: str) -> None:
    (finding,) = check_proof(edited(proof, change)).findings

    assert (finding.code, finding.level) == ("L602", 6)
    assert finding.sentence == f"the path does not prove that {sentence}"


@given(st.data())
def test_a_changed_hash_in_any_path_is_a_finding(data: st.DataObject) -> None:
    proofs: list[Proof] = [inclusion(3, 7), inclusion(11, 12), consistency(3, 7), consistency(6, 12)]
    proof = data.draw(st.sampled_from(proofs))
    at, digit = data.draw(st.integers(0, len(proof.path) - 1)), data.draw(st.integers(0, 63))

    def change(document: dict[str, Any]) -> None:
        node = document["path"][at]
        document["path"][at] = node[:digit] + ("0" if node[digit] != "0" else "1") + node[digit + 1 :]

    assert codes(edited(proof, change)) == ["L602"]


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_the_checkpoint_of_a_proof_must_be_signed_by_the_given_key() -> None:
    proof = inclusion(3, 7)
    signed = serialize_proof(proof, proof.checkpoint.note().with_signature(KEY))

    assert codes(signed, key=KEY.verifier()) == []
    assert codes(document_bytes(proof), key=KEY.verifier()) == ["L510"]
    assert codes(signed, key=SignerKey("stranger", bytes(32)).verifier()) == ["L510"]


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
@pytest.mark.parametrize(
    ("proof", "checkpoint", "expected"),
    [
        (inclusion(3, 7), checkpoint_of(7), []),
        (inclusion(3, 7), Checkpoint(OTHER_RUN, 7, checkpoint_of(7).root), ["L507"]),
        (inclusion(3, 7), checkpoint_of(8), ["L508"]),
        (inclusion(3, 7), Checkpoint(RUN, 7, bytes(32)), ["L509"]),
        (inclusion(3, 7), checkpoint_of(5), ["L509"]),
        (consistency(3, 7), checkpoint_of(7), []),
        (consistency(3, 7), checkpoint_of(3), []),
        (consistency(3, 7), Checkpoint(RUN, 3, bytes(32)), ["L509"]),
        (consistency(3, 7), checkpoint_of(4), ["L509"]),
    ],
)
def test_a_given_checkpoint_must_agree_with_the_proof(
    proof: Proof, checkpoint: Checkpoint, expected: list[str]
) -> None:
    assert codes(document_bytes(proof), checkpoint=checkpoint.note().encode()) == expected


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_given_checkpoint_is_checked_like_any_other() -> None:
    proof = inclusion(3, 7)
    signed = proof.checkpoint.note().with_signature(KEY)
    data = serialize_proof(proof, signed)

    assert codes(data, checkpoint=b"forum\n") == ["L506"]
    assert codes(data, checkpoint=proof.checkpoint.note().encode(), key=KEY.verifier()) == ["L510"]
    assert codes(data, checkpoint=signed.encode(), key=KEY.verifier()) == []


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        (checkpoint_of(3), []),
        (checkpoint_of(7), []),
        (Checkpoint(OTHER_RUN, 3, checkpoint_of(3).root), ["L507"]),
        (checkpoint_of(9), ["L512"]),
        (Checkpoint(RUN, 3, bytes(32)), ["L513"]),
        (checkpoint_of(5), ["L513"]),
    ],
)
def test_a_pin_must_agree_with_the_proof(pin: Checkpoint, expected: list[str]) -> None:
    assert codes(document_bytes(consistency(3, 7)), pin=pin) == expected


def test_a_checkpoint_of_a_size_outside_the_proof_has_its_own_message() -> None:
    (finding,) = check_proof(document_bytes(consistency(3, 7)), checkpoint=checkpoint_of(5).note().encode()).findings

    assert finding.sentence == "the checkpoint's size is 5; the proof has roots for 3 and 7 only"
