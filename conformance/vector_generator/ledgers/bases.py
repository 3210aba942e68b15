"""Valid ledgers without a plan: lines, chains, bodies, seals and redactions."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fake_ledger.files import SALT, Body, Record, archive_of, checkpoint_of, ledger_of, lines_of, members_of
from fake_ledger.run_builder import RunBuilder
from vector_generator.ledgers.case import Base
from vector_generator.ledgers.edits import body, facts
from vector_generator.requirements import SPECIFICATION

ONE, TWO = Body(b"one"), Body(b"two")
THREE = Body(b"three", salt=SALT)
TORN = b'{"actor":"run'
EXAMPLE_ARCHIVE = "1cb67c37c007fdc298f436eb416e170ea8f5c5a1946af02bc00ca697307bed55"
MAX_LINE = 65_535
TORN_TAIL = {"file": "ledger.jsonl", "bytes": len(TORN), "digest": hashlib.sha256(TORN).hexdigest()}
IMPORTED_FILE = {"name": "entries.jsonl", "bytes": len(TORN), "digest": hashlib.sha256(TORN).hexdigest()}


def worked_example() -> Record:
    """The worked example of docs/spec/ledger.md. The fake ledger must have exactly the bytes that the page shows."""
    page = (SPECIFICATION / "ledger.md").read_text(encoding="utf-8")
    block = re.search(r"```jsonl\n(.*?)```", page, re.DOTALL)
    example = block.group(1).encode() if block else b""
    entries = [json.loads(line) for line in example.splitlines()]
    three = Body(b"three\n")
    record = Record(tuple(_without_chain(entry) for entry in entries), {three.digest: three})
    archive = archive_of(members_of(record))
    if ledger_of(lines_of(record.entries)) != example or hashlib.sha256(archive).hexdigest() != EXAMPLE_ARCHIVE:
        raise ValueError("the worked example of ledger.md differs from the fake ledger")
    return record


def _without_chain(entry: dict[str, Any]) -> dict[str, Any]:
    data = {key: value for key, value in entry["data"].items() if key != "root"}
    return {key: value for key, value in {**entry, "data": data}.items() if key != "prev"}


def notes() -> Record:
    """0 run.opened, 1 x-note with two bodies, 2 x-note with a salted one, 3 run.sealed."""
    builder = RunBuilder()
    first = builder.add("x-note", {"count": 2}, [0], {"first": ONE, "second": TWO})
    builder.add("x-note", {"count": 3}, [0, first], {"third": THREE})
    return builder.sealed()


def body_referenced_twice() -> Record:
    """0 run.opened, 1 x-note, 2 x-note with the same bodies, 3 run.sealed."""
    builder = RunBuilder()
    builder.add("x-note", bodies={"plain": ONE, "salted": THREE})
    builder.add("x-note", bodies={"plain": ONE, "salted": THREE})
    return builder.sealed()


def redacted_after_the_seal() -> Record:
    """0 run.opened, 1 x-note with two bodies, 2 run.sealed, 3 body.redacted, 4 run.sealed."""
    builder = RunBuilder()
    builder.add("x-note", bodies={"first": ONE, "second": TWO})
    builder.sealed()
    builder.redact(ONE, "first", 1)
    return builder.sealed()


def redacted_salted() -> Record:
    """0 run.opened, 1 x-note with a salted body, 2 body.redacted, 3 run.sealed."""
    builder = RunBuilder()
    builder.add("x-note", bodies={"third": THREE})
    builder.redact(THREE, "third", 1)
    return builder.sealed()


def note_after_the_seal() -> Record:
    """0 run.opened, 1 run.sealed, 2 x-note, 3 run.sealed."""
    builder = RunBuilder()
    builder.sealed()
    builder.add("x-note")
    return builder.sealed()


def repaired_after_the_seal() -> Record:
    """0 run.opened, 1 run.sealed, 2 run.repaired, 3 run.sealed."""
    builder = RunBuilder()
    builder.sealed()
    builder.add("run.repaired", {"torn": [TORN_TAIL]})
    return builder.sealed()


def repaired() -> Record:
    """0 run.opened, 1 x-note, 2 run.repaired, 3 run.sealed."""
    builder = RunBuilder()
    builder.add("x-note", bodies={"first": ONE})
    builder.add("run.repaired", {"torn": [TORN_TAIL]})
    return builder.sealed()


def imported() -> Record:
    """0 run.opened with the source of its entries, 1 x-note, 2 run.sealed."""
    return imported_from([IMPORTED_FILE])


def imported_from(files: Sequence[Mapping[str, Any]]) -> Record:
    source = {"format": "forum-engine", "files": files, "records": 1, "check": "ok"}
    record = facts(0, mode="imported", imported=source).apply(_with_note({"record": 0}))
    return body(0, "notice", Body(b"from records of another program")).apply(record)


def _with_note(data: dict[str, Any], **members: Any) -> Record:
    builder = RunBuilder()
    builder.add("x-note", data, **members)
    return builder.sealed()


def longest_line() -> Record:
    """The line of entry 1 has 65,535 bytes."""
    short = len(lines_of(_with_note({"text": ""}).entries)[1])
    return _with_note({"text": "x" * (MAX_LINE - short)})


def deepest_line() -> Record:
    """Entry 1 is nested 64 levels deep: the entry, its data, and 62 lists."""
    nested: Any = []
    for _ in range(61):
        nested = [nested]
    return _with_note({"nested": nested})


def paddings() -> Record:
    builder = RunBuilder()
    for size in (0, 1, 511, 512, 513):
        builder.add("x-note", {"size": size}, bodies={"kept": Body(b"k" * size, "application/octet-stream")})
    return builder.sealed()


def line_bases() -> Iterator[Base]:
    lines = ("LEDGER-LINE-001", "LEDGER-LINE-003", "LEDGER-LINE-005", "LEDGER-ENTRY-001")
    yield Base(
        "worked-example",
        "the worked example of ledger.md: three entries without a plan, one body, a seal",
        (*lines, "LEDGER-LINE-006", "LEDGER-CHAIN-001", "LEDGER-TREE-001", "LEDGER-TAR-001", "LEDGER-DIR-001",
         "LEDGER-BODY-001", "LEDGER-SEAL-001", "LEDGER-KIND-001", "LEDGER-VERIFY-001"),
        worked_example(),
        level=1,
    )  # fmt: skip
    text = '\u2028\u2029\u0085\r\n\u0000"\\/\x7f\u20ac\U0001f600'
    yield Base(
        "characters-that-do-not-end-a-line",
        "strings and keys contain line separators, CR, NUL and characters beyond the BMP, in canonical form",
        lines,
        _with_note({"text": text, "\u20ac": 1, "\U0001f600": 2, "\ufb33": 3}),
        level=1,
    )
    yield Base(
        "integers-at-the-limits",
        "the largest and the smallest integer, and zero",
        ("LEDGER-LINE-004", "LEDGER-LINE-005"),
        _with_note({"largest": 2**53 - 1, "smallest": -(2**53) + 1, "zero": 0}),
        level=1,
    )


def entry_bases() -> Iterator[Base]:
    yield Base(
        "imported",
        "a ledger imported from records of another program names its source and has no plan",
        ("LEDGER-KIND-001",),
        imported(),
        level=1,
    )
    yield Base(
        "longest-line", "a line of 65,535 bytes, not counting its LF", ("LEDGER-LINE-002",), longest_line(), level=1
    )
    yield Base(
        "deepest-line", "lists nested as deeply as allowed: 64 levels, counting the entry", ("LEDGER-LINE-003",),
        deepest_line(), level=1,
    )  # fmt: skip
    yield Base(
        "user-entry-with-any-data",
        "an x- entry by a person with its own data and bodies, at the same time as the previous entry",
        ("LEDGER-ENTRY-002", "LEDGER-ENTRY-003", "LEDGER-ENTRY-005"),
        _with_note(
            {"flag": True, "none": None, "list": [1, "two", {}]}, causes=[0], bodies={"own_name_1": ONE},
            actor="person:ada", at="2026-11-15T09:00:00.000000Z",
        ),
        level=1,
    )  # fmt: skip


def body_bases() -> Iterator[Base]:
    yield Base(
        "notes",
        "two entries without a plan, three bodies, one of them salted, and a seal",
        ("LEDGER-CHAIN-001", "LEDGER-CHAIN-002", "LEDGER-ENTRY-003", "LEDGER-ENTRY-004", "LEDGER-ENTRY-005",
         "LEDGER-TAR-001", "LEDGER-TAR-002", "LEDGER-BODY-001", "LEDGER-BODY-002", "LEDGER-VERIFY-002",
         "LEDGER-VERIFY-003"),
        notes(),
        level=2,
    )  # fmt: skip
    yield Base(
        "body-referenced-twice",
        "two entries refer to the same bodies: each has one member, with the same size and salt",
        ("LEDGER-BODY-003", "LEDGER-TAR-002"),
        body_referenced_twice(),
        level=3,
    )
    yield Base(
        "bodies-with-every-padding",
        "bodies of 0, 1, 511, 512 and 513 bytes: padding goes up to the next multiple of 512",
        ("LEDGER-TAR-001", "LEDGER-BODY-001"),
        paddings(),
        level=3,
    )
    yield Base(
        "other-files-in-the-directory",
        "a verifier ignores other files in a run directory, and names in outputs/ that begin with a dot",
        ("LEDGER-DIR-001", "LEDGER-DIR-002"),
        notes(),
        {"notes.md": b"# Notes\n", "outputs/.keep": b""},
        level=3,
    )


def redaction_bases() -> Iterator[Base]:
    yield Base(
        "redacted-after-the-seal",
        "a body is redacted: its member contains zeros, and the ledger is sealed again",
        ("LEDGER-REDACT-001", "LEDGER-REDACT-002", "LEDGER-TAR-002", "LEDGER-CHAIN-003", "LEDGER-SEAL-002"),
        redacted_after_the_seal(),
        level=3,
    )
    yield Base(
        "redacted-salted-body",
        "a salted body is redacted before the seal: as many zeros as it had bytes and salt",
        ("LEDGER-REDACT-001", "LEDGER-REDACT-002", "LEDGER-BODY-002"),
        redacted_salted(),
        level=3,
    )


def seal_bases() -> Iterator[Base]:
    yield Base(
        "note-after-the-seal",
        "an x- entry follows the seal, and then a second seal with its own root",
        ("LEDGER-CHAIN-003", "LEDGER-SEAL-001", "LEDGER-SEAL-002"),
        note_after_the_seal(),
        level=5,
    )
    yield Base(
        "repaired",
        "a torn tail was set aside, and an entry records this",
        ("LEDGER-TORN-001", "LEDGER-TORN-002", "LEDGER-DIR-001"),
        repaired(),
        {f"torn/ledger.jsonl.{hashlib.sha256(TORN).hexdigest()}": TORN},
        level=5,
    )
    yield Base(
        "repaired-after-the-seal",
        "a torn tail was set aside after the seal, and a second seal follows",
        ("LEDGER-CHAIN-003", "LEDGER-TORN-002"),
        repaired_after_the_seal(),
        level=2,
    )
    yield Base(
        "with-its-checkpoint",
        "the directory has the checkpoint of all its entries",
        ("LEDGER-CHECKPOINT-001", "LEDGER-CHECKPOINT-003"),
        notes(),
        {"checkpoint": checkpoint_of(lines_of(notes().entries))},
        level=5,
    )
    yield Base(
        "with-an-earlier-checkpoint",
        "the directory has the checkpoint of its first two entries: the ledger has only grown since",
        ("LEDGER-CHECKPOINT-003",),
        notes(),
        {"checkpoint": checkpoint_of(lines_of(notes().entries), 2)},
        level=5,
    )


def bases() -> Iterator[Base]:
    yield from line_bases()
    yield from entry_bases()
    yield from body_bases()
    yield from redaction_bases()
    yield from seal_bases()
