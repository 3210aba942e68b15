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

EXTRA_CONTENT = b"nobody asked for this"


def _member_offsets(original: Original) -> list[int]:
    """The offsets of all members, and the offset of the end of the last one."""
    offsets = [0]
    for member in original.members:
        offsets.append(offsets[-1] + len(member.pack()))
    return offsets


def _flip_bit(data: bytes, offset: int, random: Random) -> bytes:
    return data[:offset] + bytes([data[offset] ^ (1 << random.randrange(8))]) + data[offset + 1 :]


def _flip_header_bytes(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start in _member_offsets(original)[:-1]:
        offset = start + random.randrange(BLOCK)
        yield Change(f"byte {offset}", partial(original.with_files, bodies_tar=_flip_bit(data, offset, random)))


def _flip_content_bytes(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start, member in zip(_member_offsets(original), original.members, strict=False):
        if member.content:
            offset = start + BLOCK + random.randrange(len(member.content))
            yield Change(f"byte {offset}", partial(original.with_files, bodies_tar=_flip_bit(data, offset, random)))


def _flip_padding_bytes(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start, member in zip(_member_offsets(original)[1:], original.members, strict=True):
        padding = -len(member.content) % BLOCK
        if padding:
            offset = start - 1 - random.randrange(padding)
            yield Change(f"byte {offset}", partial(original.with_files, bodies_tar=_flip_bit(data, offset, random)))


def _flip_end_bytes(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for _ in range(4):
        offset = len(data) - 1 - random.randrange(2 * BLOCK)
        yield Change(f"byte {offset}", partial(original.with_files, bodies_tar=_flip_bit(data, offset, random)))


def _change_header_field(field: str, original: Original, _: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start in _member_offsets(original)[:-1]:
        block = with_field(data[start : start + BLOCK], field)
        changed = data[:start] + block + data[start + BLOCK :]
        yield Change(f"member at {start}", partial(original.with_files, bodies_tar=changed))


def _change_size(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start, member in zip(_member_offsets(original), original.members, strict=False):
        size = len(member.content) + random.choice([1, 2, BLOCK, 10**6])
        changed = data[:start] + header(member.name, size) + data[start + BLOCK :]
        yield Change(f"{member.name}, {size} bytes", partial(original.with_files, bodies_tar=changed))


def _change_members(change: Callable[[Member], Member], original: Original, _: Random) -> Iterator[Change]:
    for index, member in enumerate(original.members):
        members = [*original.members[:index], change(member), *original.members[index + 1 :]]
        yield Change(member.name, partial(original.with_members, members))


def _zero(member: Member) -> Member:
    return replace(member, content=bytes(len(member.content)))


def _lengthen(member: Member) -> Member:
    return replace(member, content=member.content + b"\0")


def _redact(member: Member) -> Member:
    return _zero(member).in_folder("redacted")


def _move_to_other_folder(member: Member) -> Member:
    return member.in_folder("salted" if member.folder == "sha256" else "sha256")


def _swap_members(original: Original, random: Random) -> Iterator[Change]:
    for index in range(len(original.members) - 1):
        other = random.randrange(index + 1, len(original.members))
        members = list(original.members)
        members[index], members[other] = members[other], members[index]
        yield Change(f"members {index} and {other}", partial(original.with_members, members))


def _swap_contents(original: Original, random: Random) -> Iterator[Change]:
    for index in range(len(original.members) - 1):
        other = random.randrange(index + 1, len(original.members))
        members = list(original.members)
        first, second = members[index], members[other]
        members[index], members[other] = replace(first, content=second.content), replace(second, content=first.content)
        yield Change(f"members {index} and {other}", partial(original.with_members, members))


def _drop_members(original: Original, _: Random) -> Iterator[Change]:
    for index, member in enumerate(original.members):
        members = [*original.members[:index], *original.members[index + 1 :]]
        yield Change(member.name, partial(original.with_members, members))


def _repeat_members(original: Original, _: Random) -> Iterator[Change]:
    for index, member in enumerate(original.members):
        members = [*original.members[:index], member, *original.members[index:]]
        yield Change(member.name, partial(original.with_members, members))


def _add_member(name: str, original: Original, _: Random) -> Iterator[Change]:
    for index in range(len(original.members) + 1):
        members = [*original.members[:index], Member(name, EXTRA_CONTENT), *original.members[index:]]
        yield Change(f"before member {index}", partial(original.with_members, members))


def _truncate_at_members(original: Original, _: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for size in [*_member_offsets(original), len(data) - BLOCK]:
        yield Change(f"after {size} bytes", partial(original.with_files, bodies_tar=data[:size]))


def _truncate_inside_members(original: Original, random: Random) -> Iterator[Change]:
    data = original.files[BODIES]
    for start in _member_offsets(original):
        size = start + random.randrange(1, BLOCK)
        yield Change(f"after {size} bytes", partial(original.with_files, bodies_tar=data[:size]))


def _append_bytes(extra: bytes, original: Original, _: Random) -> Iterator[Change]:
    yield Change("at the end", partial(original.with_files, bodies_tar=original.files[BODIES] + extra))


def _remove_archive(original: Original, _: Random) -> Iterator[Change]:
    yield Change("the file", partial(original.without, BODIES))


KINDS: dict[str, Mutator] = {
    "archive-header-byte-flipped": _flip_header_bytes,
    "archive-content-byte-flipped": _flip_content_bytes,
    "archive-padding-byte-flipped": _flip_padding_bytes,
    "archive-end-byte-flipped": _flip_end_bytes,
    "archive-member-of-another-size": _change_size,
    "archive-member-zeroed": partial(_change_members, _zero),
    "archive-member-longer": partial(_change_members, _lengthen),
    "archive-member-redacted-without-an-entry": partial(_change_members, _redact),
    "archive-member-named-redacted": partial(_change_members, lambda member: member.in_folder("redacted")),
    "archive-member-in-another-folder": partial(_change_members, _move_to_other_folder),
    "archive-member-dropped": _drop_members,
    "archive-member-repeated": _repeat_members,
    "archive-members-swapped": _swap_members,
    "archive-contents-swapped": _swap_contents,
    "archive-member-added": partial(_add_member, f"sha256/{hashlib.sha256(EXTRA_CONTENT).hexdigest()}"),
    "archive-member-with-a-wrong-name-added": partial(_add_member, f"sha256/{UNKNOWN_DIGEST}"),
    "archive-member-without-a-folder-added": partial(_add_member, "readme.txt"),
    "archive-cut-at-a-member": _truncate_at_members,
    "archive-cut-inside-a-member": _truncate_inside_members,
    "archive-followed-by-garbage": partial(_append_bytes, b"\1"),
    "archive-followed-by-zeros": partial(_append_bytes, bytes(BLOCK)),
    "archive-removed": _remove_archive,
    **{f"archive-{field}-changed": partial(_change_header_field, field) for field in FIELDS},
}
