"""Changes to bodies.tar alone (level 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random

from forum_conformance.mutation.archive import BLOCK, FIELDS, Member, header, with_field
from forum_conformance.mutation.change import UNKNOWN_DIGEST, Change, Mutator
from forum_conformance.mutation.original import BODIES, Original

EXTRA = b"nobody asked for this"


def _starts(original: Original) -> list[int]:
    """Where the members begin, and where the last one ends."""
    starts = [0]
    for member in original.members:
        starts.append(starts[-1] + len(member.packed()))
    return starts


def _flip(data: bytes, place: int, random: Random) -> bytes:
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def _header_flipped(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start in _starts(original)[:-1]:
        place = start + random.randrange(BLOCK)
        yield Change(f"byte {place}", partial(original.with_files, bodies_tar=_flip(data, place, random)))


def _content_flipped(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start, member in zip(_starts(original), original.members, strict=False):
        if member.content:
            place = start + BLOCK + random.randrange(len(member.content))
            yield Change(f"byte {place}", partial(original.with_files, bodies_tar=_flip(data, place, random)))


def _padding_flipped(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start, member in zip(_starts(original)[1:], original.members, strict=True):
        padding = -len(member.content) % BLOCK
        if padding:
            place = start - 1 - random.randrange(padding)
            yield Change(f"byte {place}", partial(original.with_files, bodies_tar=_flip(data, place, random)))


def _end_flipped(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for _ in range(4):
        place = len(data) - 1 - random.randrange(2 * BLOCK)
        yield Change(f"byte {place}", partial(original.with_files, bodies_tar=_flip(data, place, random)))


def _other_field(field: str, original: Original, _: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start in _starts(original)[:-1]:
        block = with_field(data[start : start + BLOCK], field)
        changed = data[:start] + block + data[start + BLOCK :]
        yield Change(f"member at {start}", partial(original.with_files, bodies_tar=changed))


def _other_size(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start, member in zip(_starts(original), original.members, strict=False):
        size = len(member.content) + random.choice([1, 2, BLOCK, 10**6])
        changed = data[:start] + header(member.name, size) + data[start + BLOCK :]
        yield Change(f"{member.name}, {size} bytes", partial(original.with_files, bodies_tar=changed))


def _changed(change: Callable[[Member], Member], original: Original, _: Random) -> Iterator[Change]:
    for place, member in enumerate(original.members):
        members = [*original.members[:place], change(member), *original.members[place + 1 :]]
        yield Change(member.name, partial(original.with_members, members))


def _zeroed(member: Member) -> Member:
    return replace(member, content=bytes(len(member.content)))


def _longer(member: Member) -> Member:
    return replace(member, content=member.content + b"\0")


def _redacted(member: Member) -> Member:
    return _zeroed(member).moved("redacted")


def _other_folder(member: Member) -> Member:
    return member.moved("salted" if member.folder == "sha256" else "sha256")


def _swapped(original: Original, random: Random) -> Iterator[Change]:
    for place in range(len(original.members) - 1):
        other = random.randrange(place + 1, len(original.members))
        members = list(original.members)
        members[place], members[other] = members[other], members[place]
        yield Change(f"members {place} and {other}", partial(original.with_members, members))


def _contents_swapped(original: Original, random: Random) -> Iterator[Change]:
    for place in range(len(original.members) - 1):
        other = random.randrange(place + 1, len(original.members))
        members = list(original.members)
        one, two = members[place], members[other]
        members[place], members[other] = replace(one, content=two.content), replace(two, content=one.content)
        yield Change(f"members {place} and {other}", partial(original.with_members, members))


def _dropped(original: Original, _: Random) -> Iterator[Change]:
    for place, member in enumerate(original.members):
        members = [*original.members[:place], *original.members[place + 1 :]]
        yield Change(member.name, partial(original.with_members, members))


def _repeated(original: Original, _: Random) -> Iterator[Change]:
    for place, member in enumerate(original.members):
        members = [*original.members[:place], member, *original.members[place:]]
        yield Change(member.name, partial(original.with_members, members))


def _added(name: str, original: Original, _: Random) -> Iterator[Change]:
    for place in range(len(original.members) + 1):
        members = [*original.members[:place], Member(name, EXTRA), *original.members[place:]]
        yield Change(f"before member {place}", partial(original.with_members, members))


def _cut_at(original: Original, _: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for size in [*_starts(original), len(data) - BLOCK]:
        yield Change(f"after {size} bytes", partial(original.with_files, bodies_tar=data[:size]))


def _cut_inside(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start in _starts(original):
        size = start + random.randrange(1, BLOCK)
        yield Change(f"after {size} bytes", partial(original.with_files, bodies_tar=data[:size]))


def _followed_by(text: bytes, original: Original, _: Random) -> Iterator[Change]:
    yield Change("at the end", partial(original.with_files, bodies_tar=original.files[BODIES] + text))


def _gone(original: Original, _: Random) -> Iterator[Change]:
    yield Change("the file", partial(original.without, BODIES))


KINDS: dict[str, Mutator] = {
    "archive-header-byte-flipped": _header_flipped,
    "archive-content-byte-flipped": _content_flipped,
    "archive-padding-byte-flipped": _padding_flipped,
    "archive-end-byte-flipped": _end_flipped,
    "archive-member-of-another-size": _other_size,
    "archive-member-zeroed": partial(_changed, _zeroed),
    "archive-member-longer": partial(_changed, _longer),
    "archive-member-redacted-without-an-entry": partial(_changed, _redacted),
    "archive-member-named-redacted": partial(_changed, lambda member: member.moved("redacted")),
    "archive-member-in-another-folder": partial(_changed, _other_folder),
    "archive-member-dropped": _dropped,
    "archive-member-repeated": _repeated,
    "archive-members-swapped": _swapped,
    "archive-contents-swapped": _contents_swapped,
    "archive-member-added": partial(_added, f"sha256/{hashlib.sha256(EXTRA).hexdigest()}"),
    "archive-member-with-a-wrong-name-added": partial(_added, f"sha256/{UNKNOWN_DIGEST}"),
    "archive-member-without-a-folder-added": partial(_added, "readme.txt"),
    "archive-cut-at-a-member": _cut_at,
    "archive-cut-inside-a-member": _cut_inside,
    "archive-followed-by-garbage": partial(_followed_by, b"\1"),
    "archive-followed-by-zeros": partial(_followed_by, bytes(BLOCK)),
    "archive-removed": _gone,
    **{f"archive-{field}-changed": partial(_other_field, field) for field in FIELDS},
}
