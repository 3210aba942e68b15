"""Checkpoints and proofs to create from a ledger (role `prove`)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fake_ledger.files import canonical, ledger_of
from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers.bases import TORN
from vector_generator.proofs import documents
from vector_generator.proofs.signing import KEY
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector

CHECKPOINTS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 70)
INCLUSIONS = (
    (0, 1), (0, 2), (1, 2), (0, 3), (2, 3), (1, 4), (4, 5), (3, 7), (6, 7), (0, 8), (7, 8), (8, 9), (9, 16), (16, 17),
    (30, 31), (32, 33), (33, 64), (64, 65), (37, 70), (69, 70),
)  # fmt: skip
CONSISTENCIES = (
    (0, 0), (0, 5), (1, 1), (1, 2), (2, 3), (3, 4), (3, 7), (4, 7), (4, 8), (6, 8), (7, 8), (8, 8), (8, 9), (5, 16),
    (16, 17), (21, 33), (32, 33), (64, 65), (65, 70), (69, 70),
)  # fmt: skip
VERIFIED_BY = (
    "created in the generator by the recursive definitions of RFC 6962, sections 2.1, 2.1.1 and 2.1.2;"
    " `forum` writes the same"
)
REFUSED = "written by hand; the request cannot be met, and `forum` writes nothing"


@dataclass(frozen=True, slots=True)
class CreationRequest:
    """A request for a checkpoint or proof. `expected` is None if the request must be refused."""

    name: str
    title: str
    action: str
    numbers: Mapping[str, int]
    ledger: bytes
    expected: bytes | None
    derived_from: str | None = None
    mutation: str | None = None
    requirements: tuple[str, ...] = field(default=("LEDGER-PROOF-001", "LEDGER-TREE-001"))


def _ledger(size: int) -> bytes:
    """A ledger with at least its first entry, because an empty ledger belongs to no run."""
    return ledger_of(documents.lines()[: max(size, 1)])


def _full_ledgers() -> Iterator[CreationRequest]:
    for size in CHECKPOINTS:
        yield CreationRequest(
            f"checkpoint-creation-{size}", f"the checkpoint of size {size}", "checkpoint", {"size": size},
            _ledger(size), documents.checkpoint_of_size(size), requirements=("LEDGER-CHECKPOINT-001",
                "LEDGER-TREE-001"),
        )  # fmt: skip
    for seq, size in INCLUSIONS:
        yield CreationRequest(
            f"inclusion-creation-{seq}-of-{size}", f"the inclusion proof of entry {seq} for size {size}", "inclusion",
            {"seq": seq, "size": size}, _ledger(size), documents.proof_bytes(documents.inclusion(seq, size)),
        )  # fmt: skip
    for older, size in CONSISTENCIES:
        yield CreationRequest(
            f"consistency-creation-{older}-to-{size}",
                f"the consistency proof from size {older} to size {size}",
            "consistency", {"from_size": older, "size": size}, _ledger(size),
            documents.proof_bytes(documents.consistency(older, size)),
        )  # fmt: skip


def _longer_ledgers() -> Iterator[CreationRequest]:
    """The ledger has more entries than the proof covers."""
    nine_entries = _ledger(9)
    checkpoint = ("LEDGER-CHECKPOINT-001", "LEDGER-TREE-001")
    yield CreationRequest("checkpoint-creation-5-of-9", "the checkpoint of the first five of nine entries",
        "checkpoint",
                {"size": 5},
                nine_entries, documents.checkpoint_of_size(5), requirements=checkpoint)  # fmt: skip
    yield CreationRequest("inclusion-creation-2-of-5-of-9",
                "the inclusion proof of entry 2 for the first five of nine entries", "inclusion",
                {"seq": 2, "size": 5}, nine_entries, documents.proof_bytes(documents.inclusion(2, 5)))  # fmt: skip
    yield CreationRequest("consistency-creation-3-to-6-of-9",
        "the consistency proof from three entries to the first six of nine",
                "consistency", {"from_size": 3, "size": 6}, nine_entries,
                documents.proof_bytes(documents.consistency(3, 6)))  # fmt: skip
    yield CreationRequest("checkpoint-creation-with-a-torn-tail",
        "a torn tail is not a line, so the checkpoint does not cover it", "checkpoint",
                {"size": 3}, _ledger(3) + TORN, documents.checkpoint_of_size(3), requirements=checkpoint)  # fmt: skip


def _refused() -> Iterator[CreationRequest]:
    def refused(
        name: str, origin: str, title: str, mutation: str, action: str, ledger: bytes, **numbers: int
    ) -> CreationRequest:
        return CreationRequest(name, title, action, numbers, ledger, None, f"proofs/{origin}", mutation)

    small = _ledger(3)
    broken = small.replace(b'"n":1', b'"n":7')
    yield refused("checkpoint-of-missing-entries", "checkpoint-creation-3",
                  "a checkpoint of more entries than the ledger has",
                  "four entries are requested", "checkpoint", small, size=4)  # fmt: skip
    yield refused("checkpoint-of-an-empty-ledger", "checkpoint-creation-0",
        "a ledger without an entry belongs to no run",
                  "the ledger has no line", "checkpoint", b"", size=0)  # fmt: skip
    yield refused("checkpoint-of-a-torn-entry", "checkpoint-creation-with-a-torn-tail",
        "a checkpoint cannot cover a torn tail",
                  "four entries are requested", "checkpoint", small + TORN, size=4)  # fmt: skip
    yield refused("checkpoint-of-a-broken-chain", "checkpoint-creation-3",
                  "no checkpoint is created for a ledger with an invalid chain",
                  "entry 1 was edited", "checkpoint", broken, size=3)  # fmt: skip
    yield refused("inclusion-of-seq-equal-to-size", "inclusion-creation-2-of-3",
                  "entries are numbered from 0, so a ledger of three entries has no entry 3",
                  "entry 3 is requested", "inclusion", small, seq=3, size=3)  # fmt: skip
    yield refused("inclusion-beyond-the-size", "inclusion-creation-2-of-5-of-9",
                  "an entry beyond the covered entries",
                  "entry 7 is requested for the size 5", "inclusion", _ledger(9), seq=7, size=5)  # fmt: skip
    yield refused("inclusion-among-missing-entries", "inclusion-creation-2-of-3",
                  "an inclusion proof for more entries than the ledger has",
                  "four entries are requested", "inclusion", small, seq=2, size=4)  # fmt: skip
    yield refused("inclusion-in-an-empty-tree", "inclusion-creation-0-of-1", "no entry is included in an empty tree",
                  "zero entries are requested",
                  "inclusion", _ledger(1), seq=0, size=0)  # fmt: skip
    yield refused("inclusion-in-a-broken-chain", "inclusion-creation-2-of-3",
                  "nothing is proved about a ledger with an invalid chain", "entry 1 was edited", "inclusion", broken,
                  seq=2, size=3)  # fmt: skip
    yield refused("consistency-backwards", "consistency-creation-3-to-4", "a ledger does not grow backwards",
                  "the sizes are swapped", "consistency", _ledger(4), from_size=4, size=3)  # fmt: skip
    yield refused("consistency-with-missing-entries", "consistency-creation-3-to-4",
                  "a consistency proof for more entries than the ledger has",
                  "five entries are requested", "consistency", _ledger(4), from_size=3, size=5)  # fmt: skip


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    for request in [*_full_ledgers(), *_longer_ledgers(), *_refused()]:
        _check(request, forum)
        yield _vector(request)
    _check_signing(forum)


def _check(request: CreationRequest, forum: ForumProgram) -> None:
    created = _created_by_forum(request, forum)
    is_same = created == request.expected
    if created is not None and request.expected is not None and request.action != "checkpoint":
        proof = json.loads(created)
        is_same = proof == json.loads(request.expected) and created == canonical(proof) + b"\n"
    if not is_same:
        raise BadVector(f"proofs/{request.name}", f"forum writes {created!r} instead of {request.expected!r}")


def _created_by_forum(request: CreationRequest, forum: ForumProgram) -> bytes | None:
    folder = forum.fresh_folder()
    ledger, output = folder / "ledger.jsonl", folder / "output"
    ledger.write_bytes(request.ledger)
    answer = forum.ask("prove", action=request.action, input=ledger, output=output, **request.numbers)
    return output.read_bytes() if answer["verdict"] == "valid" else None


def _check_signing(forum: ForumProgram) -> None:
    """Check the generator's signatures against the ones of `forum`."""
    folder = forum.fresh_folder()
    ledger, key, output = folder / "ledger.jsonl", folder / "key", folder / "output"
    ledger.write_bytes(_ledger(3))
    key.write_bytes(KEY.private_text)
    forum.call("checkpoint", str(ledger), f"--key={key}", f"--output={output}")
    if not output.is_file() or output.read_bytes() != KEY.signed(documents.checkpoint_of_size(3)):
        raise BadVector("proofs/note-signed", "the signature of `forum` differs from the generator's")


def _vector(request: CreationRequest) -> Vector:
    is_created = request.expected is not None
    files = {"ledger.jsonl": request.ledger}
    if request.expected is not None:
        files["expected"] = request.expected
    return Vector(
        id=f"proofs/{request.name}",
        title=request.title,
        role="prove",
        requirements=request.requirements,
        request={"action": request.action, "input": "ledger.jsonl", **request.numbers},
        expected={"verdict": "valid", "output": "expected"} if is_created else {"verdict": "invalid"},
        verified_by=VERIFIED_BY if is_created else REFUSED,
        derived_from=request.derived_from,
        mutation=request.mutation,
        files=files,
    )
