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
from vector_generator.ledgers.case import Base, Case, Findings, run_files
from vector_generator.ledgers.edits import cut, drop, facts, members
from vector_generator.ledgers.row import Row, cases_of
from vector_generator.proofs.signing import KEY, OTHER_KEY
from vector_generator.proofs.tree import node

COUNTS = dict.fromkeys(STATES, 0)

SEALS = (
    Row("not-sealed", "notes", "SEAL-001", "L501", None, "a ledger without a seal is incomplete", drop(3)),
    Row("run-not-sealed", "one-task", "SEAL-001", "L501", None, "a run whose tasks have all ended, without a seal",
        drop(4)),
    Row("paused", "gated", "SEAL-001", "L501", None, "a run paused at a gate",
        cut(3)),
    Row("note-after-the-last-seal", "note-after-the-seal", "SEAL-002", "L501", None,
        "an entry follows the last seal", drop(3)),
    Row("sealed-again-with-another-status", "note-after-the-seal", "SEAL-002", "L504", 3,
        "a second seal has another status",
        facts(3, status="failed")),
    Row("sealed-again-with-other-counts", "note-after-the-seal", "SEAL-002", "L504", 3,
        "a second seal has other counts",
        facts(3, counts={**COUNTS, "passed": 1})),
    Row("sealed-again-with-other-totals", "note-after-the-seal", "SEAL-002", "L504", 3,
        "a second seal has other totals",
        facts(3, totals={"calls": 1, **NO_USAGE})),
    Row("seal-with-another-root", "notes", "SEAL-001", "L505", 3,
        "a seal's root is not the root of the entries before it",
        facts(3, root=OTHER_DIGEST)),
    Row("second-seal-with-the-root-of-the-first", "note-after-the-seal", "SEAL-001 SEAL-002", "L505", 3,
        "a second seal repeats the root of the first",
        facts(3, root="e90a97cdc34deab0b1c939356b5cdb2c228f233734c0c26351fecd53606e9379")),
    Row("repaired-and-not-finished", "repaired", "SEAL-001 TORN-002", "L501", None,
        "a ledger that was reopened and not finished", drop(3)),
)  # fmt: skip


def _with_old_root(record: Record) -> Files:
    """An entry was edited and the chain recomputed, but not the seal."""
    old_root = merkle_root([leaf(line) for line in lines_of(record.entries)[:3]]).hex()
    edited = members(1, actor="person:mallory").apply(record)
    return directory_of(facts(3, root=old_root).apply(edited))


def _root_with_its_own_line(record: Record) -> Files:
    root = merkle_root([leaf(line) for line in lines_of(record.entries)]).hex()
    return directory_of(facts(3, root=root).apply(record))


def _with_root(compute_root: Callable[[Sequence[bytes]], bytes]) -> Callable[[Record], Files]:
    """A seal over the three entries of `notes` whose root `compute_root` computes incorrectly."""

    def files(record: Record) -> Files:
        root = compute_root(lines_of(record.entries)[:3]).hex()
        return directory_of(facts(3, root=root).apply(record))

    return files


def _split_after_first(lines: Sequence[bytes]) -> bytes:
    first, second, third = (leaf(line) for line in lines)
    return node(first, node(second, third))


def _last_leaf_repeated(lines: Sequence[bytes]) -> bytes:
    first, second, third = (leaf(line) for line in lines)
    return node(node(first, second), node(third, third))


def _without_prefixes(lines: Sequence[bytes]) -> bytes:
    """The root without the prefix bytes of leaves and nodes."""
    first, second, third = (hashlib.sha256(line).digest() for line in lines)
    return hashlib.sha256(hashlib.sha256(first + second).digest() + third).digest()


def _ledger(change: Callable[[bytes], bytes]) -> Callable[[Record], Files]:
    return lambda record: {**directory_of(record), "ledger.jsonl": change(ledger_of(lines_of(record.entries)))}


def _truncated(size: int) -> Callable[[Record], Files]:
    """The ledger truncated to this many lines; the other files are unchanged."""
    return lambda record: {**directory_of(record), "ledger.jsonl": ledger_of(lines_of(record.entries)[:size])}


@dataclass(frozen=True, slots=True)
class Level5Row:
    """A run directory, and the head, checkpoint, pin or key that the verifier is given."""

    name: str
    base: str
    rules: str
    title: str
    mutation: str | None
    findings: Findings = ()
    files: Callable[[Record], Files] | None = None
    """None for the files of the base."""
    other_files: Files = field(default_factory=dict)
    """Files that are added to the vector's folder."""
    request_members: Mapping[str, Any] = field(default_factory=dict)
    not_checked: frozenset[int] = frozenset()


TAILS = (
    Level5Row("truncated", "one-task", "SEAL-001 TORN-001 VERIFY-003",
         "the last two lines are missing: incomplete, not valid",
         "the lines of entries 3 and 4 are missing", (("L501", None),), _truncated(3)),
    Level5Row("truncated-before-a-body", "one-task", "SEAL-001 TORN-001",
         "the last three lines are missing: incomplete, with an unreferenced body",
         "the lines of entries 2 to 4 are missing", (("L310", None), ("L501", None)), _truncated(2)),
    Level5Row("truncated-with-a-copied-answer", "delivered", "SEAL-001 DIR-002",
         "the last two lines are missing, but the copy of their answer exists",
         "the lines of entries 8 and 9 are missing", (("L308", None), ("L501", None)), _truncated(8)),
    Level5Row("truncated-at-the-first-seal", "note-after-the-seal", "REACH-001",
         "a ledger truncated at a seal: undetectable without a checkpoint", None, (), _truncated(2)),
    Level5Row("torn-tail", "notes", "TORN-001 LINE-001", "a process was killed while it wrote a line",
         "the last line is cut after 100 bytes", (("L501", None), ("L503", 3)),
         _ledger(lambda ledger: ledger[: ledger[:-1].rindex(b"\n") + 101])),
    Level5Row("last-line-without-a-line-feed", "notes", "TORN-001 LINE-001",
         "a whole entry without its LF is a torn tail, not a line",
         "the LF of the last line is missing", (("L501", None), ("L503", 3)), _ledger(lambda ledger: ledger[:-1])),
    Level5Row("torn-tail-after-the-seal", "notes", "TORN-001", "bytes follow the last LF of a sealed ledger",
         "bytes are appended after the last LF", (("L503", 4),), _ledger(lambda ledger: ledger + TORN)),
    Level5Row("empty", "worked-example", "SEAL-001 VERIFY-001", "a ledger without a line is incomplete",
         "all lines are missing", (("L310", None), ("L502", None)), _ledger(lambda _: b"")),
    Level5Row("only-a-torn-line", "worked-example", "SEAL-001 TORN-001", "a ledger that is only a torn tail",
         "all lines are replaced by some bytes", (("L310", None), ("L502", None), ("L503", 0)),
         _ledger(lambda _: TORN)),
    Level5Row("edited-and-rechained-but-not-resealed", "notes", "SEAL-001",
         "an entry was edited and the chain recomputed, but not the seal",
         "the actor of entry 1 is changed; the chain is recomputed, and the seal keeps its root", (("L505", 3),),
         _with_old_root),
    Level5Row("seal-with-another-tree-split", "notes", "TREE-001 SEAL-001",
         "three leaves are split after one instead of two",
         "the seal's root comes from a tree that is split after its first leaf", (("L505", 3),),
         _with_root(_split_after_first)),
    Level5Row("seal-with-an-odd-leaf-repeated", "notes", "TREE-001 SEAL-001",
         "an odd leaf is hashed with itself instead of being promoted",
         "the seal's root comes from a tree with its last leaf repeated", (("L505", 3),),
         _with_root(_last_leaf_repeated)),
    Level5Row("seal-with-an-unprefixed-tree", "notes", "TREE-001 SEAL-001",
         "leaves and nodes are hashed without their prefix bytes",
         "the seal's root is computed without the prefix bytes", (("L505", 3),), _with_root(_without_prefixes)),
    Level5Row("torn-again", "repaired", "TORN-001 TORN-002", "a repaired ledger has a torn tail again",
         "bytes are appended after the last LF", (("L503", 4),), _ledger(lambda ledger: ledger + TORN)),
    Level5Row("seal-with-a-root-of-its-own-line", "notes", "SEAL-001", "a seal's root covers one entry too many",
         "the root is the original root of all four lines", (("L505", 3),), _root_with_its_own_line),
)  # fmt: skip

HEAD = "expect_head"


def _given_references(bases: Mapping[str, Base]) -> Iterator[Level5Row]:
    """Cases of `notes` with a given head, checkpoint, pin or key."""
    record = bases["notes"].record
    lines = lines_of(record.entries)
    text = checkpoint_of(lines)
    roots = [merkle_root([leaf(line) for line in lines[:size]]) for size in range(len(lines) + 1)]
    head = leaf(lines[-1]).hex()
    yield Level5Row("expected-head", "notes", "CHECKPOINT-004 CHAIN-001", "the head is the expected one", None,
               request_members={HEAD: head})  # fmt: skip
    yield Level5Row("head-mismatch", "notes", "CHECKPOINT-004 REACH-001",
               "the head is not the expected one",
               "the head of the line before the last is expected", (("L511", None),),
               request_members={HEAD: leaf(lines[-2]).hex()})  # fmt: skip
    yield from _checkpoints_of_the_directory(roots)
    yield from _pins(text, roots)
    signed = {"run/checkpoint": KEY.signed(text), "key.pub": KEY.public_text}
    yield Level5Row("checkpoint-signed", "notes", "CHECKPOINT-002 CHECKPOINT-003",
               "without a given checkpoint, the key applies to the directory's own", None,
               other_files=signed, request_members={"key": "key.pub"})  # fmt: skip
    yield Level5Row("checkpoint-signed-with-another-key", "notes", "CHECKPOINT-002 CHECKPOINT-003",
               "the directory's checkpoint is signed with a different key than the given one",
               "the directory has a checkpoint that another key signed", (("L510", None),),
               other_files={**signed, "run/checkpoint": OTHER_KEY.signed(text)},
               request_members={"key": "key.pub"})  # fmt: skip
    yield Level5Row("checkpoint-unsigned", "notes", "CHECKPOINT-002 CHECKPOINT-003",
               "a key is given, but the directory's checkpoint is unsigned",
               "the directory has an unsigned checkpoint", (("L510", None),),
               other_files={**signed, "run/checkpoint": text}, request_members={"key": "key.pub"})  # fmt: skip


def _checkpoints_of_the_directory(roots: list[bytes]) -> Iterator[Level5Row]:
    def row(name: str, title: str, mutation: str, code: str, content: bytes) -> Level5Row:
        return Level5Row(
            name, "with-its-checkpoint", "CHECKPOINT-001 CHECKPOINT-003" if code == "L506" else "CHECKPOINT-003",
            title, mutation, ((code, None),), other_files={"run/checkpoint": content},
        )  # fmt: skip

    yield row("checkpoint-malformed", "the directory's checkpoint is malformed",
                 "the directory's checkpoint is empty", "L506", b"")  # fmt: skip
    yield row("checkpoint-of-another-run", "the directory's checkpoint belongs to another run",
                 "the checkpoint's origin has another run", "L507",
                 checkpoint_text(4, roots[4], OTHER_RUN))  # fmt: skip
    yield row("checkpoint-of-more-entries", "the directory's checkpoint covers more entries than the ledger has",
                 "the checkpoint's size is 5", "L508", checkpoint_text(5, roots[4]))  # fmt: skip
    yield row("checkpoint-with-another-root", "the directory's checkpoint has another root",
                 "the checkpoint's root is the root of three entries", "L509", checkpoint_text(4,
                     roots[3]))  # fmt: skip


def _pins(text: bytes, roots: list[bytes]) -> Iterator[Level5Row]:
    def pinned(name: str, title: str, mutation: str | None, findings: Findings, content: bytes) -> Level5Row:
        return Level5Row(
            name, "notes", "CHECKPOINT-004", title, mutation, findings,
            other_files={"pin": content}, request_members={"pin": "pin"},
        )  # fmt: skip

    yield pinned("pinned", "the pin matches the ledger", None, (), text)
    yield pinned(
        "pinned-before-it-grew", "the pin covers the first two entries", None, (), checkpoint_text(2, roots[2])
    )
    yield pinned("pin-of-another-run", "the pin belongs to another run", "the pin has another run", (("L507", None),),
                 checkpoint_text(4, roots[4], OTHER_RUN))  # fmt: skip
    yield pinned("fewer-entries-than-its-pin", "the ledger has fewer entries than its pin",
                 "the pin has 5 entries", (("L512", None),), checkpoint_text(5, roots[4]))  # fmt: skip
    yield pinned("rewritten-since-its-pin", "the ledger's root differs from the pin's",
                 "the pin has the root of three entries for two", (("L513", None),),
                 checkpoint_text(2, roots[3]))  # fmt: skip


def _rewritten(bases: Mapping[str, Base]) -> Iterator[Level5Row]:
    """A rewritten ledger with correct hashes: valid alone, but it contradicts an earlier checkpoint."""
    record = bases["notes"].record
    text = checkpoint_of(lines_of(record.entries))
    edited = directory_of(members(1, actor="person:mallory").apply(record))
    yield Level5Row("rewritten", "notes", "REACH-001", "a rewritten ledger with correct hashes is valid", None,
               (), lambda _: edited)  # fmt: skip
    yield Level5Row("rewritten-and-detected", "notes", "REACH-001 CHECKPOINT-003",
               "a rewritten ledger contradicts an earlier checkpoint",
               "the actor of entry 1 is changed, chain and seal are recomputed; an earlier checkpoint is given",
               (("L509", None),), lambda _: edited, {"before": text}, {"checkpoint": "before"})  # fmt: skip
    yield Level5Row("truncated-and-detected", "note-after-the-seal", "REACH-001 CHECKPOINT-003",
               "a ledger truncated at a seal contradicts an earlier checkpoint",
               "the lines after the first seal are missing, and an earlier checkpoint is given", (("L508", None),),
               _truncated(2),
               {"before": checkpoint_of(lines_of(bases["note-after-the-seal"].record.entries))},
               {"checkpoint": "before"})  # fmt: skip
    yield Level5Row("empty-with-a-checkpoint", "worked-example", "CHECKPOINT-003",
               "a ledger without an entry belongs to no run",
                   "all lines are missing, and an earlier checkpoint is given",
               (("L310", None), ("L502", None), ("L507", None)), _ledger(lambda _: b""),
               {"before": checkpoint_of(lines_of(bases["worked-example"].record.entries))},
               {"checkpoint": "before"})  # fmt: skip


def _bare_ledgers(bases: Mapping[str, Base]) -> Iterator[Case]:
    """Ledgers without a run directory."""
    lines = lines_of(bases["worked-example"].record.entries)
    unchecked = frozenset({3, 4})
    yield Case("bare", "a bare ledger: bodies and semantics cannot be checked",
               ("LEDGER-VERIFY-001", "LEDGER-VERIFY-005", "LEDGER-DIR-001"), 5,
               {"ledger.jsonl": ledger_of(lines)}, not_checked=unchecked)  # fmt: skip
    yield Case("bare-not-sealed", "a bare ledger without a seal", ("LEDGER-SEAL-001", "LEDGER-VERIFY-001"), 5,
               {"ledger.jsonl": ledger_of(lines[:2])}, (("L501", None),), unchecked,
               derived_from="ledger/bare", mutation="the last line is missing")  # fmt: skip
    yield Case("bare-empty", "a bare ledger without a line", ("LEDGER-SEAL-001", "LEDGER-VERIFY-001"), 5,
               {"ledger.jsonl": b""}, (("L502", None),), unchecked,
               derived_from="ledger/bare", mutation="all lines are missing")  # fmt: skip
    edited = lines[1].replace(b'"count":3', b'"count":4')
    yield Case("bare-edited", "a bare ledger with an edited entry", ("LEDGER-CHAIN-001", "LEDGER-VERIFY-003"), 2,
               {"ledger.jsonl": ledger_of([lines[0], edited, lines[2]])}, (("L201", 2),), unchecked,
               derived_from="ledger/bare", mutation="`count` of entry 1 is 4; nothing else is changed")  # fmt: skip


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    yield from cases_of(SEALS, bases)
    yield from _bare_ledgers(bases)
    for row in [*TAILS, *_given_references(bases), *_rewritten(bases)]:
        base = bases[row.base]
        files = {**base.other_files, **row.files(base.record)} if row.files else base.files()
        yield Case(
            name=row.name,
            title=row.title,
            requirements=tuple(f"LEDGER-{rule}" for rule in row.rules.split()),
            level=5,
            files={**run_files(files), **row.other_files},
            findings=row.findings,
            not_checked=base.not_checked | row.not_checked,
            request_members=row.request_members,
            derived_from=f"ledger/{base.name}" if row.mutation else None,
            mutation=row.mutation,
        )
