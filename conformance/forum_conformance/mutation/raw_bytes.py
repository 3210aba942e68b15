"""Changes to the ledger's bytes that leave the hashes and the checkpoint unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.change import Change, Mutator, entry_label
from forum_conformance.mutation.original import CHECKPOINT, LEDGER, Entry, Files, Original, canonical, joined, leaf

OTHER_RUN = "01936b2e-4d10-7a3c-9f00-ffffffffffff"


def _covered(original: Original) -> range:
    """The lines that a later hash covers: a checkpoint covers the last one."""
    return range(len(original.lines) - (CHECKPOINT not in original.files))


def _with_line(original: Original, seq: int, line: bytes) -> Files:
    return original.with_lines([*original.lines[:seq], line, *original.lines[seq + 1 :]])


def _byte_flipped(original: Original, random: Random) -> Iterator[Change]:
    for seq in _covered(original):
        line = original.lines[seq]
        place = random.randrange(len(line))
        flipped = line[:place] + bytes([line[place] ^ (1 << random.randrange(8))]) + line[place + 1 :]
        yield Change(f"seq {seq}, byte {place}", partial(_with_line, original, seq, flipped))


def _edited(edit: Callable[[Entry, Random], Entry], original: Original, random: Random) -> Iterator[Change]:
    for seq in _covered(original):
        entry = original.entries[seq]
        line = canonical(edit(entry, random))
        yield Change(entry_label(seq, entry), partial(_with_line, original, seq, line))


def _field(name: str, value: Any) -> Mutator:
    return partial(_edited, lambda entry, _: {**entry, name: value})


def _other_data(entry: Entry, random: Random) -> Entry:
    if not entry["data"]:
        return {**entry, "data": {"x": 0}}
    name = random.choice(sorted(entry["data"]))
    return {**entry, "data": {**entry["data"], name: _other(entry["data"][name])}}


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, dict) and value:
        first = min(value)
        return {**value, first: _other(value[first])}
    return [value]


def _dropped(original: Original, _: Random) -> Iterator[Change]:
    for seq in range(len(original.lines) - 1):
        lines = [*original.lines[:seq], *original.lines[seq + 1 :]]
        yield Change(f"seq {seq}", partial(original.with_lines, lines))


def _swapped(original: Original, random: Random) -> Iterator[Change]:
    for seq in range(len(original.lines) - 1):
        other = random.randrange(seq + 1, len(original.lines))
        lines = list(original.lines)
        lines[seq], lines[other] = lines[other], lines[seq]
        yield Change(f"seqs {seq} and {other}", partial(original.with_lines, lines))


def _duplicated(original: Original, _: Random) -> Iterator[Change]:
    for seq, line in enumerate(original.lines):
        lines = [*original.lines[:seq], line, *original.lines[seq:]]
        yield Change(f"seq {seq}", partial(original.with_lines, lines))


def _inserted(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    for seq in range(len(original.lines) + 1):
        lines = [*original.lines[:seq], text, *original.lines[seq:]]
        yield Change(f"before seq {seq}", partial(original.with_lines, lines))


def _joined_by(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    for seq in range(len(original.lines)):
        ledger = joined(original.lines[:seq]) + original.lines[seq] + text + joined(original.lines[seq + 1 :])
        yield Change(f"after seq {seq}", partial(original.with_files, ledger_jsonl=ledger))


def _without_checkpoint(original: Original, ledger: bytes) -> Files:
    return {**original.without(CHECKPOINT), LEDGER: ledger}


def _cut_at(original: Original, _: Random) -> Iterator[Change]:
    for size in range(len(original.lines)):
        is_sealed = size > 0 and original.entries[size - 1]["kind"] == "run.sealed"
        ledger = joined(original.lines[:size])
        yield Change(f"after {size} lines", partial(_without_checkpoint, original, ledger), not is_sealed)


def _cut_inside(original: Original, random: Random) -> Iterator[Change]:
    for seq, line in enumerate(original.lines):
        size = random.randrange(1, len(line) + 1)
        ledger = joined(original.lines[:seq]) + line[:size]
        yield Change(f"seq {seq}, after {size} bytes", partial(_without_checkpoint, original, ledger))


def _stale_checkpoint(original: Original, _: Random) -> Iterator[Change]:
    if CHECKPOINT in original.files:
        for size in range(len(original.lines)):
            yield Change(f"after {size} lines", partial(original.with_lines, original.lines[:size]))


def _spliced(original: Original, _: Random) -> Iterator[Change]:
    """The end of another run of the same plan."""
    foreign = [{**entry, "run": OTHER_RUN} for entry in original.entries]
    lines: list[bytes] = []
    for entry in foreign:
        lines.append(canonical({**entry, "prev": leaf(lines[-1]).hex() if lines else "0" * 64}))
    for seq in range(1, len(lines)):
        spliced = [*original.lines[:seq], *lines[seq:]]
        yield Change(f"from seq {seq}", partial(original.with_lines, spliced))


def _followed_by(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    yield Change("at the end", partial(original.with_files, ledger_jsonl=original.files[LEDGER] + text))


def _missing(original: Original, _: Random) -> Iterator[Change]:
    yield Change("all lines", partial(_without_checkpoint, original, b""))


KINDS: dict[str, Mutator] = {
    "byte-flipped": _byte_flipped,
    "version-edited": _field("v", 2),
    "run-edited": _field("run", OTHER_RUN),
    "seq-edited": _field("seq", 9_999),
    "time-edited": _field("at", "2026-11-15T08:59:59.999999Z"),
    "actor-edited": _field("actor", "person:mallory"),
    "kind-edited": _field("kind", "x-other"),
    "causes-edited": _field("causes", [1, 2]),
    "bodies-edited": _field("bodies", {}),
    "prev-edited": _field("prev", "f" * 64),
    "data-edited": partial(_edited, _other_data),
    "line-dropped": _dropped,
    "lines-swapped": _swapped,
    "line-duplicated": _duplicated,
    "garbage-line-inserted": partial(_inserted, b"\x8b\x1f"),
    "lines-joined-by-a-line-separator": partial(_joined_by, "\u2028".encode()),
    "lines-joined-by-nothing": partial(_joined_by, b""),
    "truncated-at-a-line": _cut_at,
    "truncated-inside-a-line": _cut_inside,
    "truncated-with-its-checkpoint": _stale_checkpoint,
    "tail-of-another-run": _spliced,
    "torn-tail-after-the-seal": partial(_followed_by, b'{"actor":"run'),
    "garbage-after-the-seal": partial(_followed_by, b"\0\0\0\n"),
    "all-lines-removed": _missing,
}
