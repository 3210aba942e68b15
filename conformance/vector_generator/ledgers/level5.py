"""Incomplete ledgers, and mismatches of seals, checkpoints, heads and pins (level 5)."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fake_ledger.files import (
    OTHER_DIGEST,
    OTHER_RUN,
    Files,
    Record,
    checkpoint_of,
    checkpoint_text,
    directory_of,
    leaf,
    ledger_of,
    lines_of,
    merkle_root,
)
from fake_ledger.ledger_builder import NO_USAGE, STATES
from vector_generator.ledgers.bases import TORN
from vector_generator.ledgers.case import Base, Case, Found, in_run
from vector_generator.ledgers.edits import cut, drop, facts, members
from vector_generator.ledgers.row import Row, cases_of
from vector_generator.proofs.signing import KEY, OTHER_KEY
from vector_generator.proofs.tree import node

COUNTS = dict.fromkeys(STATES, 0)

SEALS = (
    Row("not-sealed", "notes", "SEAL-001", "L501", None, "a ledger without a seal is incomplete", drop(3)),
    Row("run-not-sealed", "one-task", "SEAL-001", "L501", None, "a run that did all its work, and was not sealed",
        drop(4)),
    Row("paused", "gated", "SEAL-001", "L501", None, "a run that is paused at a gate",
        cut(3)),
    Row("note-after-the-last-seal", "note-after-the-seal", "SEAL-002", "L501", None,
        "an entry follows a seal, and no further seal does", drop(3)),
    Row("sealed-again-with-another-status", "note-after-the-seal", "SEAL-002", "L504", 3,
        "a further seal has another status",
        facts(3, status="failed")),
    Row("sealed-again-with-other-counts", "note-after-the-seal", "SEAL-002", "L504", 3,
        "a further seal has other counts",
        facts(3, counts={**COUNTS, "passed": 1})),
    Row("sealed-again-with-other-totals", "note-after-the-seal", "SEAL-002", "L504", 3,
        "a further seal has other totals",
        facts(3, totals={"calls": 1, **NO_USAGE})),
    Row("seal-with-another-root", "notes", "SEAL-001", "L505", 3, "a seal's root is not that of the entries before it",
        facts(3, root=OTHER_DIGEST)),
    Row("further-seal-with-the-root-of-the-first", "note-after-the-seal", "SEAL-001 SEAL-002", "L505", 3,
        "a further seal repeats the root of the seal before it",
        facts(3, root="e90a97cdc34deab0b1c939356b5cdb2c228f233734c0c26351fecd53606e9379")),
    Row("torn-off-repair", "repaired", "SEAL-001 TORN-002", "L501", None,
        "a ledger that was opened again, and not finished", drop(3)),
)  # fmt: skip


def _root_kept(record: Record) -> Files:
    """An entry was edited and the chain mended, and the seal was forgotten."""
    kept = merkle_root([leaf(line) for line in lines_of(record.entries)[:3]]).hex()
    edited = members(1, actor="person:mallory").make(record)
    return directory_of(facts(3, root=kept).make(edited))


def _root_of_one_more(record: Record) -> Files:
    found = merkle_root([leaf(line) for line in lines_of(record.entries)]).hex()
    return directory_of(facts(3, root=found).make(record))


def _tree_of(make: Callable[[Sequence[bytes]], bytes]) -> Callable[[Record], Files]:
    """A seal over the three entries of `notes`, with a root that was made in another way."""

    def files(record: Record) -> Files:
        found = make(lines_of(record.entries)[:3]).hex()
        return directory_of(facts(3, root=found).make(record))

    return files


def _split_otherwise(lines: Sequence[bytes]) -> bytes:
    first, second, third = (leaf(line) for line in lines)
    return node(first, node(second, third))


def _odd_repeated(lines: Sequence[bytes]) -> bytes:
    first, second, third = (leaf(line) for line in lines)
    return node(node(first, second), node(third, third))


def _unmarked(lines: Sequence[bytes]) -> bytes:
    """Without the bytes that tell leaves and nodes apart."""
    first, second, third = (hashlib.sha256(line).digest() for line in lines)
    return hashlib.sha256(hashlib.sha256(first + second).digest() + third).digest()


def _ledger(change: Callable[[bytes], bytes]) -> Callable[[Record], Files]:
    return lambda record: {**directory_of(record), "ledger.jsonl": change(ledger_of(lines_of(record.entries)))}


def _cut(size: int) -> Callable[[Record], Files]:
    """The ledger after that many lines; what stands beside it stays."""
    return lambda record: {**directory_of(record), "ledger.jsonl": ledger_of(lines_of(record.entries)[:size])}


@dataclass(frozen=True, slots=True)
class Told:
    """A run directory, and what the verifier is told from elsewhere."""

    name: str
    base: str
    rules: str
    title: str
    mutation: str | None
    found: Found = ()
    files: Callable[[Record], Files] | None = None
    """None: as the base has them."""
    beside: Files = field(default_factory=dict)
    """Files of the vector's folder that the request names."""
    given: Mapping[str, Any] = field(default_factory=dict)
    not_checked: frozenset[int] = frozenset()


TAILS = (
    Told("cut-tail", "one-task", "SEAL-001 TORN-001 VERIFY-003",
         "the last two lines are gone: incomplete, and not valid",
         "the lines of entries 3 and 4 are gone", (("L501", None),), _cut(3)),
    Told("cut-tail-before-a-body", "one-task", "SEAL-001 TORN-001",
         "the last three lines are gone: incomplete, with a body that no entry names",
         "the lines of entries 2 to 4 are gone", (("L310", None), ("L501", None)), _cut(2)),
    Told("cut-tail-beside-its-answer", "handed-over", "SEAL-001 DIR-002",
         "the last two lines are gone, and the copy of an answer is still there: it copies nothing",
         "the lines of entries 8 and 9 are gone", (("L308", None), ("L501", None)), _cut(8)),
    Told("cut-after-the-first-seal", "note-after-the-seal", "REACH-001",
         "a tail that is cut at a seal: nobody can tell without a checkpoint", None, (), _cut(2)),
    Told("torn-tail", "notes", "TORN-001 LINE-001", "a line was being written when the process was killed",
         "the last line is cut after 100 bytes", (("L501", None), ("L503", 3)),
         _ledger(lambda ledger: ledger[: ledger[:-1].rindex(b"\n") + 101])),
    Told("last-line-without-its-end", "notes", "TORN-001 LINE-001",
         "a whole entry without its LF is a torn tail, and no line",
         "the LF of the last line is gone", (("L501", None), ("L503", 3)), _ledger(lambda ledger: ledger[:-1])),
    Told("torn-tail-after-the-seal", "notes", "TORN-001", "bytes follow the last LF of a sealed ledger",
         "some bytes follow the last LF", (("L503", 4),), _ledger(lambda ledger: ledger + TORN)),
    Told("empty", "worked-example", "SEAL-001 VERIFY-001", "a ledger with no line is incomplete",
         "all lines are gone", (("L310", None), ("L502", None)), _ledger(lambda _: b"")),
    Told("only-a-torn-line", "worked-example", "SEAL-001 TORN-001", "a ledger with nothing but a torn tail",
         "all lines are gone, and some bytes stand there", (("L310", None), ("L502", None), ("L503", 0)),
         _ledger(lambda _: TORN)),
    Told("edited-and-the-seal-forgotten", "notes", "SEAL-001",
         "an entry was edited, and the chain mended, and not the seal",
         "the actor of entry 1 is another; the chain is written anew, and the seal keeps its root", (("L505", 3),),
         _root_kept),
    Told("seal-with-a-tree-split-otherwise", "notes", "TREE-001 SEAL-001",
         "three leaves are split after two, not after one",
         "the seal's root is that of a tree that is split after its first leaf", (("L505", 3),),
         _tree_of(_split_otherwise)),
    Told("seal-with-an-odd-leaf-repeated", "notes", "TREE-001 SEAL-001", "an odd leaf goes up alone, and not twice",
         "the seal's root is that of a tree with its last leaf repeated", (("L505", 3),), _tree_of(_odd_repeated)),
    Told("seal-with-an-unmarked-tree", "notes", "TREE-001 SEAL-001",
         "leaves and nodes are told apart by a byte before them",
         "the seal's root was made without these bytes", (("L505", 3),), _tree_of(_unmarked)),
    Told("torn-again", "repaired", "TORN-001 TORN-002", "a ledger that was repaired has a torn tail again",
         "some bytes follow the last LF", (("L503", 4),), _ledger(lambda ledger: ledger + TORN)),
    Told("seal-with-a-root-of-its-own-line", "notes", "SEAL-001", "a seal's root is of one entry too many",
         "the root is that of all four lines as they were", (("L505", 3),), _root_of_one_more),
)  # fmt: skip

HEAD = "expect_head"


def _notes_files(bases: Mapping[str, Base]) -> Iterator[Told]:
    """What is told of `notes` from elsewhere."""
    record = bases["notes"].record
    lines = lines_of(record.entries)
    text = checkpoint_of(lines)
    roots = [merkle_root([leaf(line) for line in lines[:size]]) for size in range(len(lines) + 1)]
    head = leaf(lines[-1]).hex()
    yield Told("expected-head", "notes", "CHECKPOINT-004 CHAIN-001", "the head is the expected one", None,
               given={HEAD: head})  # fmt: skip
    yield Told("another-head", "notes", "CHECKPOINT-004 REACH-001", "the head is not the expected one",
               "the head of the line before the last is expected", (("L511", None),),
               given={HEAD: leaf(lines[-2]).hex()})  # fmt: skip
    yield from _checkpoints_of_the_directory(roots)
    yield from _pins(text, roots)
    signed = {"run/checkpoint": KEY.signed(text), "key.pub": KEY.public_text}
    yield Told("signed-checkpoint-beside", "notes", "CHECKPOINT-002 CHECKPOINT-003",
               "without one that is given, a key is for the directory's own checkpoint", None,
               beside=signed, given={"key": "key.pub"})  # fmt: skip
    yield Told("checkpoint-signed-by-another", "notes", "CHECKPOINT-002 CHECKPOINT-003",
               "the directory's checkpoint is signed by another key than was given",
               "the directory has a checkpoint that another key signed", (("L510", None),),
               beside={**signed, "run/checkpoint": OTHER_KEY.signed(text)}, given={"key": "key.pub"})  # fmt: skip
    yield Told("checkpoint-signed-by-nobody", "notes", "CHECKPOINT-002 CHECKPOINT-003",
               "the directory's checkpoint is not signed, and a key was given",
               "the directory has a checkpoint that nobody signed", (("L510", None),),
               beside={**signed, "run/checkpoint": text}, given={"key": "key.pub"})  # fmt: skip


def _checkpoints_of_the_directory(roots: list[bytes]) -> Iterator[Told]:
    def beside(name: str, title: str, mutation: str, code: str, content: bytes) -> Told:
        return Told(
            name, "with-its-checkpoint", "CHECKPOINT-001 CHECKPOINT-003" if code == "L506" else "CHECKPOINT-003",
            title, mutation, ((code, None),), beside={"run/checkpoint": content},
        )  # fmt: skip

    yield beside("malformed-checkpoint-beside", "the directory's checkpoint is malformed",
                 "the directory's checkpoint is empty", "L506", b"")  # fmt: skip
    yield beside("checkpoint-of-another-run-beside", "the directory's checkpoint is of another run",
                 "the checkpoint's origin has another run", "L507",
                 checkpoint_text(4, roots[4], OTHER_RUN))  # fmt: skip
    yield beside("checkpoint-of-more-entries-beside", "the directory's checkpoint is of more entries",
                 "the checkpoint's size is 5", "L508", checkpoint_text(5, roots[4]))  # fmt: skip
    yield beside("checkpoint-of-another-root-beside", "the directory's checkpoint has another root",
                 "the checkpoint's root is that of three entries", "L509", checkpoint_text(4, roots[3]))  # fmt: skip


def _pins(text: bytes, roots: list[bytes]) -> Iterator[Told]:
    def pinned(name: str, title: str, mutation: str | None, found: Found, content: bytes) -> Told:
        return Told(
            name, "notes", "CHECKPOINT-004", title, mutation, found, beside={"pin": content}, given={"pin": "pin"}
        )

    yield pinned("pinned", "the pin is of this ledger", None, (), text)
    yield pinned("pinned-before-it-grew", "the pin is of its first two entries", None, (), checkpoint_text(2, roots[2]))
    yield pinned("pinned-another-run", "the pin is of another run", "the pin has another run", (("L507", None),),
                 checkpoint_text(4, roots[4], OTHER_RUN))  # fmt: skip
    yield pinned("went-back-behind-its-pin", "the ledger has fewer entries than when it was pinned",
                 "the pin has 5 entries", (("L512", None),), checkpoint_text(5, roots[4]))  # fmt: skip
    yield pinned("rewritten-since-its-pin", "the ledger has another root than when it was pinned",
                 "the pin has the root of three entries for two", (("L513", None),),
                 checkpoint_text(2, roots[3]))  # fmt: skip


def _rewritten(bases: Mapping[str, Base]) -> Iterator[Told]:
    """A builder told anew, each hash right: valid alone, and refused beside the checkpoint of what was."""
    record = bases["notes"].record
    text = checkpoint_of(lines_of(record.entries))
    edited = directory_of(members(1, actor="person:mallory").make(record))
    yield Told("rewritten", "notes", "REACH-001", "a ledger that is written anew, each hash right, holds", None,
               (), lambda _: edited)  # fmt: skip
    yield Told("rewritten-and-found", "notes", "REACH-001 CHECKPOINT-003",
               "a ledger that is written anew does not hold beside a checkpoint from before",
               "the actor of entry 1 is another, chain and seal are written anew; a checkpoint from before is given",
               (("L509", None),), lambda _: edited, {"before": text}, {"checkpoint": "before"})  # fmt: skip
    yield Told("cut-and-found", "note-after-the-seal", "REACH-001 CHECKPOINT-003",
               "a tail that is cut at a seal does not hold beside a checkpoint from before",
               "the lines after the first seal are gone, and a checkpoint from before is given", (("L508", None),),
               _cut(2),
               {"before": checkpoint_of(lines_of(bases["note-after-the-seal"].record.entries))},
               {"checkpoint": "before"})  # fmt: skip
    yield Told("empty-beside-a-checkpoint", "worked-example", "CHECKPOINT-003",
               "a ledger without an entry is of no run", "all lines are gone, and a checkpoint from before is given",
               (("L310", None), ("L502", None), ("L507", None)), _ledger(lambda _: b""),
               {"before": checkpoint_of(lines_of(bases["worked-example"].record.entries))},
               {"checkpoint": "before"})  # fmt: skip


def _bare(bases: Mapping[str, Base]) -> Iterator[Case]:
    """Ledgers without a run directory."""
    lines = lines_of(bases["worked-example"].record.entries)
    unchecked = frozenset({3, 4})
    yield Case("bare", "a bare ledger: bodies and semantics cannot be checked",
               ("LEDGER-VERIFY-001", "LEDGER-VERIFY-005", "LEDGER-DIR-001"), 5,
               {"ledger.jsonl": ledger_of(lines)}, not_checked=unchecked)  # fmt: skip
    yield Case("bare-not-sealed", "a bare ledger without a seal", ("LEDGER-SEAL-001", "LEDGER-VERIFY-001"), 5,
               {"ledger.jsonl": ledger_of(lines[:2])}, (("L501", None),), unchecked,
               derived_from="ledger/bare", mutation="the last line is gone")  # fmt: skip
    yield Case("bare-empty", "a bare ledger with no line", ("LEDGER-SEAL-001", "LEDGER-VERIFY-001"), 5,
               {"ledger.jsonl": b""}, (("L502", None),), unchecked,
               derived_from="ledger/bare", mutation="all lines are gone")  # fmt: skip
    edited = lines[1].replace(b'"count":3', b'"count":4')
    yield Case("bare-edited", "a bare ledger with an edited entry", ("LEDGER-CHAIN-001", "LEDGER-VERIFY-003"), 2,
               {"ledger.jsonl": ledger_of([lines[0], edited, lines[2]])}, (("L201", 2),), unchecked,
               derived_from="ledger/bare", mutation="`count` of entry 1 is 4; nothing else is changed")  # fmt: skip


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    yield from cases_of(SEALS, bases)
    yield from _bare(bases)
    for told in [*TAILS, *_notes_files(bases), *_rewritten(bases)]:
        base = bases[told.base]
        files = {**base.beside, **told.files(base.record)} if told.files else base.files()
        yield Case(
            name=told.name,
            title=told.title,
            requirements=tuple(f"LEDGER-{rule}" for rule in told.rules.split()),
            level=5,
            files={**in_run(files), **told.beside},
            found=told.found,
            not_checked=base.not_checked | told.not_checked,
            given=told.given,
            derived_from=f"ledger/{base.name}" if told.mutation else None,
            mutation=told.mutation,
        )
