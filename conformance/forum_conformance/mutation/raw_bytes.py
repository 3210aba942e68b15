"""Changes to the ledger's bytes without recomputing hashes or the checkpoint, which may be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.change import Change, Mutator, entry_label
from forum_conformance.mutation.original import (
    CHECKPOINT,
    LEDGER,
    Entry,
    Files,
    Original,
    canonical,
    join_lines,
    leaf_hash,
)

OTHER_RUN = "01936b2e-4d10-7a3c-9f00-ffffffffffff"


def _covered_seqs(original: Original) -> range:
    """The lines that a later hash covers: `prev` of the next line or, for the last line, the checkpoint's root."""
    return range(len(original.lines) - (CHECKPOINT not in original.files))


def _with_line(original: Original, seq: int, line: bytes) -> Files:
    return original.with_lines([*original.lines[:seq], line, *original.lines[seq + 1 :]])


def _flip_bytes(original: Original, random: Random) -> Iterator[Change]:
    for seq in _covered_seqs(original):
        line = original.lines[seq]
        offset = random.randrange(len(line))
        flipped = line[:offset] + bytes([line[offset] ^ (1 << random.randrange(8))]) + line[offset + 1 :]
        yield Change(f"seq {seq}, byte {offset}", partial(_with_line, original, seq, flipped))


def _edit_lines(edit: Callable[[Entry, Random], Entry], original: Original, random: Random) -> Iterator[Change]:
    for seq in _covered_seqs(original):
        entry = original.entries[seq]
        line = canonical(edit(entry, random))
        yield Change(entry_label(seq, entry), partial(_with_line, original, seq, line))


def _edit_field(name: str, value: Any) -> Mutator:
    return partial(_edit_lines, lambda entry, _: {**entry, name: value})


def _change_data_field(entry: Entry, random: Random) -> Entry:
    if not entry["data"]:
        return {**entry, "data": {"x": 0}}
    name = random.choice(sorted(entry["data"]))
    return {**entry, "data": {**entry["data"], name: _change_value(entry["data"][name])}}


def _change_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, dict) and value:
        first = min(value)
        return {**value, first: _change_value(value[first])}
    return [value]


def _drop_lines(original: Original, _: Random) -> Iterator[Change]:
    for seq in range(len(original.lines) - 1):
        lines = [*original.lines[:seq], *original.lines[seq + 1 :]]
        yield Change(f"seq {seq}", partial(original.with_lines, lines))


def _swap_lines(original: Original, random: Random) -> Iterator[Change]:
    for seq in range(len(original.lines) - 1):
        other = random.randrange(seq + 1, len(original.lines))
        lines = list(original.lines)
        lines[seq], lines[other] = lines[other], lines[seq]
        yield Change(f"seqs {seq} and {other}", partial(original.with_lines, lines))


def _duplicate_lines(original: Original, _: Random) -> Iterator[Change]:
    for seq, line in enumerate(original.lines):
        lines = [*original.lines[:seq], line, *original.lines[seq:]]
        yield Change(f"seq {seq}", partial(original.with_lines, lines))


def _insert_lines(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    for seq in range(len(original.lines) + 1):
        lines = [*original.lines[:seq], text, *original.lines[seq:]]
        yield Change(f"before seq {seq}", partial(original.with_lines, lines))


def _join_lines_with(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    for seq in range(len(original.lines)):
        ledger = join_lines(original.lines[:seq]) + original.lines[seq] + text + join_lines(original.lines[seq + 1 :])
        yield Change(f"after seq {seq}", partial(original.with_files, ledger_jsonl=ledger))


def _without_checkpoint(original: Original, ledger: bytes) -> Files:
    return {**original.without(CHECKPOINT), LEDGER: ledger}


def _truncate_at_lines(original: Original, _: Random) -> Iterator[Change]:
    for size in range(len(original.lines)):
        is_sealed = size > 0 and original.entries[size - 1]["kind"] == "run.sealed"
        ledger = join_lines(original.lines[:size])
        yield Change(f"after {size} lines", partial(_without_checkpoint, original, ledger), not is_sealed)


def _truncate_inside_lines(original: Original, random: Random) -> Iterator[Change]:
    for seq, line in enumerate(original.lines):
        size = random.randrange(1, len(line) + 1)
        ledger = join_lines(original.lines[:seq]) + line[:size]
        yield Change(f"seq {seq}, after {size} bytes", partial(_without_checkpoint, original, ledger))


def _truncate_and_keep_checkpoint(original: Original, _: Random) -> Iterator[Change]:
    if CHECKPOINT in original.files:
        for size in range(len(original.lines)):
            yield Change(f"after {size} lines", partial(original.with_lines, original.lines[:size]))


def _splice_tail_of_other_run(original: Original, _: Random) -> Iterator[Change]:
    """Replace the tail with the tail of a different run of the same plan."""
    other_entries = [{**entry, "run": OTHER_RUN} for entry in original.entries]
    other_lines: list[bytes] = []
    for entry in other_entries:
        prev = leaf_hash(other_lines[-1]).hex() if other_lines else "0" * 64
        other_lines.append(canonical({**entry, "prev": prev}))
    for seq in range(1, len(other_lines)):
        spliced = [*original.lines[:seq], *other_lines[seq:]]
        yield Change(f"from seq {seq}", partial(original.with_lines, spliced))


def _append_text(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    yield Change("at the end", partial(original.with_files, ledger_jsonl=original.files[LEDGER] + text))


def _remove_all_lines(original: Original, _: Random) -> Iterator[Change]:
    yield Change("all lines", partial(_without_checkpoint, original, b""))


KINDS: dict[str, Mutator] = {
    "byte-flipped": _flip_bytes,
    "version-edited": _edit_field("v", 2),
    "run-edited": _edit_field("run", OTHER_RUN),
    "seq-edited": _edit_field("seq", 9_999),
    "time-edited": _edit_field("at", "2026-11-15T08:59:59.999999Z"),
    "actor-edited": _edit_field("actor", "person:mallory"),
    "kind-edited": _edit_field("kind", "x-other"),
    "causes-edited": _edit_field("causes", [1, 2]),
    "bodies-edited": _edit_field("bodies", {}),
    "prev-edited": _edit_field("prev", "f" * 64),
    "data-edited": partial(_edit_lines, _change_data_field),
    "line-dropped": _drop_lines,
    "lines-swapped": _swap_lines,
    "line-duplicated": _duplicate_lines,
    "garbage-line-inserted": partial(_insert_lines, b"\x8b\x1f"),
    "lines-joined-by-a-line-separator": partial(_join_lines_with, "\u2028".encode()),
    "lines-joined-by-nothing": partial(_join_lines_with, b""),
    "truncated-at-a-line": _truncate_at_lines,
    "truncated-inside-a-line": _truncate_inside_lines,
    "truncated-with-its-checkpoint": _truncate_and_keep_checkpoint,
    "tail-of-another-run": _splice_tail_of_other_run,
    "torn-tail-after-the-seal": partial(_append_text, b'{"actor":"run'),
    "garbage-after-the-seal": partial(_append_text, b"\0\0\0\n"),
    "all-lines-removed": _remove_all_lines,
}
