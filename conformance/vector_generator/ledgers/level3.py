"""Faults of bodies (level 3): the archive, its members, redactions and copies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fake_ledger.files import (
    END_OF_ARCHIVE,
    OTHER_DIGEST,
    Body,
    Files,
    Member,
    archive_of,
    header_of,
    ledger_of,
    lines_of,
    members_of,
    with_checksum,
)
from vector_generator.ledgers.bases import ONE, THREE
from vector_generator.ledgers.case import Base, Case, Findings, run_files
from vector_generator.ledgers.edits import insert, move, reference, repeat
from vector_generator.ledgers.row import Row, cases_of

EXTRA = Body(b"nobody asked for this")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change to the files beside the ledger, which is unchanged (except in `WITHOUT_SALTED`)."""

    name: str
    base: str
    rules: str
    title: str
    mutation: str
    findings: Findings
    change: Callable[[Base], Files]
    not_checked: tuple[int, ...] = ()


def _change_members(change: Callable[[Sequence[Member]], Sequence[Member]]) -> Callable[[Base], Files]:
    return lambda base: {**base.files(), "bodies.tar": archive_of(change(members_of(base.record)))}


def _change_archive(change: Callable[[bytes], bytes]) -> Callable[[Base], Files]:
    return lambda base: {**base.files(), "bodies.tar": change(base.files()["bodies.tar"])}


def _set_file(name: str, content: bytes | None) -> Callable[[Base], Files]:
    """Replaces or adds a file, or removes it if `content` is None."""

    def change(base: Base) -> Files:
        rest = {key: value for key, value in base.files().items() if key != name}
        return rest if content is None else {**rest, name: content}

    return change


def _change_header(offset: int, text: bytes, *, updates_checksum: bool = True) -> Callable[[Base], Files]:
    """Changes bytes in the header of the first member, and recomputes its checksum unless told otherwise."""

    def change(archive: bytes) -> bytes:
        block = archive[:offset] + text + archive[offset + len(text) : 512]
        return (with_checksum(block) if updates_checksum else block) + archive[512:]

    return _change_archive(change)


def _header_case(name: str, title: str, offset: int, text: bytes) -> FileChange:
    return FileChange(
        f"archive-with-{name}", "notes", "TAR-001", title, f"in the header of the first member: {title}",
        (("L301", None),), _change_header(offset, text),
    )  # fmt: skip


HEADERS = (
    _header_case("another-mode", "the mode is 0600", 100, b"0000600\0"),
    _header_case("another-owner", "the owner is 1000", 108, b"0001750\0"),
    _header_case("another-group", "the group is 1000", 116, b"0001750\0"),
    _header_case("a-size-padded-with-spaces", "a size begins with spaces", 124, b"          3\0"),
    _header_case("another-time", "the time is 1", 136, b"00000000001\0"),
    _header_case("another-type", "a header has the type of a link", 156, b"1"),
    _header_case("a-nul-type", "a header's type is NUL, as before ustar", 156, b"\0"),
    _header_case("a-link-name", "a header has a link name", 157, b"x"),
    _header_case("a-gnu-magic", "magic and version are GNU tar's", 257, b"ustar  \0"),
    _header_case("a-user-name", "a header has a user name", 265, b"root\0"),
    _header_case("a-group-name", "a header has a group name", 297, b"root\0"),
    _header_case("another-device", "the device numbers are empty", 329, bytes(16)),
    _header_case("a-prefix", "a header has a prefix", 345, b"x"),
    _header_case("bytes-after-the-prefix", "the last byte of a header is not NUL", 511, b"\x01"),
    FileChange("archive-with-a-wrong-checksum", "notes", "TAR-001", "a header's checksum is wrong",
            "the checksum of the first member is 0", (("L301", None),),
            _change_header(148, b"000000\0 ", updates_checksum=False)),
    FileChange("archive-with-bytes-after-a-name", "notes", "TAR-001", "bytes follow the NUL that ends a name",
            "in the header of the first member the last byte of the name's field is `x`", (("L301", None),),
            _change_header(99, b"x")),
)  # fmt: skip


def _redacted_at(index: int) -> Callable[[Sequence[Member]], Sequence[Member]]:
    def change(members: Sequence[Member]) -> Sequence[Member]:
        name, content = members[index]
        redacted = (f"redacted/{name.partition('/')[2]}", bytes(len(content)))
        return [*members[:index], redacted, *members[index + 1 :]]

    return change


def _moved_to_folder(index: int, folder: str) -> Callable[[Sequence[Member]], Sequence[Member]]:
    def change(members: Sequence[Member]) -> Sequence[Member]:
        name, content = members[index]
        return [*members[:index], (f"{folder}/{name.partition('/')[2]}", content), *members[index + 1 :]]

    return change


def _with_content(index: int, content: bytes) -> Callable[[Sequence[Member]], Sequence[Member]]:
    return lambda members: [*members[:index], (members[index][0], content), *members[index + 1 :]]


def _with_member_added(index: int, *extra: Member) -> Callable[[Sequence[Member]], Sequence[Member]]:
    return lambda members: [*members[:index], *extra, *members[index:]]


MEMBERS = (
    FileChange("archive-missing", "notes", "TAR-001 DIR-001", "bodies.tar is missing", "bodies.tar is missing",
            (("L301", None),), _set_file("bodies.tar", None)),
    FileChange("archive-empty", "notes", "TAR-002", "bodies.tar is empty", "bodies.tar has no bytes",
            (("L302", 1), ("L302", 2), ("L310", None)), _set_file("bodies.tar", b"")),
    FileChange("archive-cut-inside-a-member", "notes", "TAR-001",
            "bodies.tar ends inside a member that an entry refers to",
            "bodies.tar is cut after 1,540 bytes", (("L301", None),), _change_archive(lambda archive: archive[:1540])),
    FileChange("archive-with-nonzero-padding", "notes", "TAR-001", "a member's padding is not all zeros",
            "the last byte of the first member's padding is 1", (("L301", None),),
            _change_archive(lambda archive: archive[:1023] + b"\x01" + archive[1024:])),
    FileChange("archive-with-an-extended-header", "notes", "TAR-001", "a pax header precedes the first member",
            "a member of type `x` precedes the first", (("L301", None),),
            _change_archive(lambda archive: with_checksum(header_of("pax", 0)[:156] + b"x" + header_of("pax",
                0)[157:]) + archive)),
    FileChange("member-missing", "notes", "TAR-002", "a referenced digest has no member",
            "the second member is missing", (("L302", 1),), _change_members(lambda members: [members[0], members[2]])),
    FileChange("wave-plan-missing", "one-task", "TAR-002 VERIFY-001",
            "the wave plan has no member, so level 4 is not checked",
            "the first member is missing", (("L302", 0),), _change_members(lambda members: members[1:]), (4,)),
    FileChange("member-content-changed", "notes", "BODY-001",
        "a member's content does not match the digest in its name",
            "the content of the first member is `One`", (("L303", 1),), _change_members(_with_content(0, b"One"))),
    FileChange("salt-changed", "notes", "BODY-002", "a salted member has another salt",
            "the first byte of the third member is 255", (("L303", 2),),
            _change_members(_with_content(2, b"\xff" + (THREE.salt + THREE.content)[1:]))),
    FileChange("salt-missing", "notes", "BODY-002", "a salted member contains the bytes without the salt",
            "the third member contains the body's bytes alone", (("L303", 2),), _change_members(_with_content(2,
            THREE.content))),
    FileChange("plain-body-in-salted", "notes", "TAR-002", "the member of a plain body is in salted/",
            "the first member is in salted/", (("L303", 1),), _change_members(_moved_to_folder(0, "salted"))),
    FileChange("salted-body-in-sha256", "notes", "TAR-002 BODY-002", "the member of a salted body is in sha256/",
            "the third member is in sha256/", (("L303", 2),), _change_members(_moved_to_folder(2, "sha256"))),
    FileChange("member-unreferenced", "notes", "TAR-002", "an unreferenced member precedes a referenced one",
            "an extra member precedes the second", (("L304", None),),
            _change_members(_with_member_added(1, EXTRA.member))),
    FileChange("member-without-a-folder", "notes", "TAR-002", "a member without a folder precedes a referenced one",
            "a member `readme.txt` precedes the second", (("L304", None),),
            _change_members(_with_member_added(1, ("readme.txt", b"x")))),
    FileChange("member-with-a-digest-in-upper-case", "notes", "TAR-002",
            "a member with an upper-case digest precedes a referenced one",
            "a second member of the first body, with an upper-case digest, precedes the second", (("L304", None),),
            _change_members(_with_member_added(1, (f"sha256/{ONE.digest.upper()}", ONE.content)))),
    FileChange("member-repeated", "notes", "TAR-002", "a digest has two members", "the first member occurs twice",
            (("L305", None),), _change_members(_with_member_added(1, ONE.member))),
    FileChange("wave-plan-repeated-first-wrong", "one-task", "TAR-002 BODY-001 VERIFY-001",
            "the wave plan has two members, and one is correct: that is enough for level 4",
            "a second member with the wave plan's name and all zeros precedes the first", (("L303", 0),),
            _change_members(lambda members: [(members[0][0], bytes(len(members[0][1]))), *members])),
    FileChange("members-of-an-entry-swapped", "notes", "TAR-002",
            "the members of one entry's bodies are not sorted by name",
            "the first and the second member are swapped", (("L305", 1),),
            _change_members(lambda members: [members[1], members[0], members[2]])),
    FileChange("members-of-entries-swapped", "notes", "TAR-002",
            "members are not in the order in which entries refer to them",
            "the third member is moved to the front", (("L305", 2),),
            _change_members(lambda members: [members[2], members[0], members[1]])),
)  # fmt: skip

REDACTIONS = (
    FileChange("redacted-but-present", "redacted-after-the-seal", "REDACT-001 REDACT-002",
            "a body is recorded as redacted, but its member is intact", "the first member contains the body",
            (("L306", 1),), lambda base: {**base.files(), "bodies.tar": archive_of(
                [ONE.member, *members_of(base.record)[1:]])}),
    FileChange("redacted-and-missing", "redacted-after-the-seal", "REDACT-002",
            "a redacted body has no member",
            "the first member is missing", (("L302", 1),), _change_members(lambda members: members[1:])),
    FileChange("redacted-but-copied", "redacted-value", "REDACT-001 REDACT-002 DIR-002",
            "a body is recorded as redacted, but its copy exists", "outputs/notes.txt exists",
            (("L306", 6),), _set_file("outputs/notes.txt", b"notes")),
    FileChange("redacted-without-an-entry", "notes", "REDACT-002", "a member is redacted, but no entry records it",
            "the second member is zeros, in redacted/", (("L307", 1),), _change_members(_redacted_at(1))),
    FileChange("redacted-in-name-only", "redacted-after-the-seal", "REDACT-001 REDACT-002",
            "a member is named redacted, but contains the body", "the first member contains the body, in redacted/",
            (("L303", 1),), _change_members(_with_content(0, ONE.content))),
    FileChange("redacted-to-another-size", "redacted-after-the-seal", "REDACT-002",
            "a redacted member has a different size than its body had", "the first member has one zero more",
            (("L303", 1),), _change_members(_with_content(0, bytes(4)))),
    FileChange("redacted-without-its-salt", "redacted-salted-body", "REDACT-002",
            "a redacted salted body has only as many zeros as the body had bytes",
            "the first member has the size of the body alone", (("L303", 1),),
            _change_members(_with_content(0, bytes(5)))),
    FileChange("wave-plan-redacted-without-an-entry", "one-task", "REDACT-002 VERIFY-001",
            "the wave plan is redacted, but no entry records it: level 4 is not checked",
            "the first member is zeros, in redacted/", (("L307", 0),), _change_members(_redacted_at(0)), (4,)),
)  # fmt: skip

COPIES = (
    FileChange("copy-of-another-answer", "answered", "DIR-002", "the copy of an answer has other bytes",
            "outputs/text.txt ends with an extra space", (("L308", 8),), _set_file("outputs/text.txt", b"text ")),
    FileChange("copy-missing", "answered", "DIR-002", "the copy of an answer is missing",
        "outputs/json.json is missing",
            (("L308", 4),), _set_file("outputs/json.json", None)),
    FileChange("copy-pretty-printed", "answered", "DIR-002 KIND-004",
            "the copy of an answer is the same value in another form",
            "outputs/json.json has spaces", (("L308", 4),), _set_file("outputs/json.json", b'{"a": 1, "b": []}')),
    FileChange("copy-without-an-answer", "answered", "DIR-002",
            "outputs/ contains a file that is not the copy of an answer",
            "outputs/other.json is added", (("L308", None),), _set_file("outputs/other.json", b"0")),
    FileChange("copy-with-another-extension", "answered", "DIR-002",
            "the copy of an answer has the extension of another type",
            "outputs/ contains image.png in addition to image.bin", (("L308", None),),
            _set_file("outputs/image.png", b"\x89PNG")),
    FileChange("copy-in-a-folder", "answered", "DIR-002", "outputs/ contains a folder",
            "outputs/more/notes.txt is added",
            (("L308", None),), _set_file("outputs/more/notes.txt", b"0")),
    FileChange("copy-of-another-wave-plan", "one-task", "DIR-002", "wave-plan.json is not the wave plan's body",
            "wave-plan.json is `{}`", (("L308", 0),), _set_file("wave-plan.json", b"{}")),
    FileChange("wave-plan-copy-missing", "one-task", "DIR-002", "wave-plan.json is missing",
        "wave-plan.json is missing",
            (("L308", 0),), _set_file("wave-plan.json", None)),
)  # fmt: skip

TAILS = (
    FileChange("archive-without-an-end", "notes", "TORN-001 TAR-001",
            "the ledger is sealed, but the archive has no end",
            "the last 1,024 bytes of bodies.tar are missing", (("L310", None),),
            _change_archive(lambda archive: archive[:-1024])),
    FileChange("archive-with-half-an-end", "notes", "TORN-001 TAR-001",
            "the end of the archive is one block instead of two",
            "the last 512 bytes of bodies.tar are missing", (("L310", None),),
                _change_archive(lambda archive: archive[:-512])),
    FileChange("archive-with-a-longer-end", "notes", "TORN-001 TAR-001", "zeros follow the end of the archive",
            "512 zeros follow", (("L310", None),), _change_archive(lambda archive: archive + bytes(512))),
    FileChange("archive-followed-by-garbage", "notes", "TORN-001", "bytes follow the end of the archive",
            "the byte 1 follows", (("L310", None),), _change_archive(lambda archive: archive + b"\x01")),
    FileChange("archive-with-an-unreferenced-body", "notes", "TORN-001 TAR-002",
            "a body was written for an entry that was never written",
            "an extra member precedes the end", (("L310", None),),
            _change_members(_with_member_added(3, EXTRA.member))),
    FileChange("archive-with-a-torn-member", "notes", "TORN-001",
            "half a member replaces the end of the archive",
            "half a header replaces the end", (("L310", None),),
            _change_archive(lambda archive: archive[: -len(END_OF_ARCHIVE)] + header_of(*_name_and_size(EXTRA))[:300])),
)  # fmt: skip


def _name_and_size(body: Body) -> tuple[str, int]:
    name, content = body.member
    return name, len(content)


REFERENCES = (
    Row("entry-with-another-size", "notes", "ENTRY-005", "L303", 1, "an entry gives the wrong size of a body",
        reference(1, "first", bytes=4)),
    Row("salt-in-the-size", "notes", "ENTRY-005 BODY-002", "L303", 2,
        "an entry counts the salt as part of the body's size",
        reference(2, "third", bytes=37)),
    Row("later-entry-with-another-size", "body-referenced-twice", "BODY-003", "L303", 2,
        "a later entry gives a body a different size than the first", reference(2, "plain", bytes=4)),
    Row("later-entry-without-salted", "body-referenced-twice", "BODY-003", "L303", 2,
        "a later entry omits `salted` for a salted body", reference(2, "salted", salted=None)),
    Row("redaction-of-an-unknown-digest", "redacted-after-the-seal", "REDACT-002", "L309", 4,
        "a redaction of a digest that no entry refers to",
        insert(4, "body.redacted", {"body": "first", "digest": OTHER_DIGEST}, [1], {"reason": Body(b"asked for")})),
    Row("redacted-twice", "redacted-after-the-seal", "REDACT-002", "L309", 4, "a body is redacted twice", repeat(3, 4)),
    Row("redacted-and-referenced-again", "redacted-after-the-seal", "REDACT-002", "L309", 4,
        "an entry refers to a body that was redacted before", insert(4, "x-note", {}, [], {"again": ONE})),
    Row("redaction-before-its-body", "redacted-salted-body", "REDACT-002", "L309", 1,
        "a body is redacted before an entry refers to it", move(2, 1), (("L309", 2),)),
)  # fmt: skip


def _without_salted(base: Base) -> Files:
    """The only reference to a salted body omits `salted`; the archive is unchanged."""
    changed = reference(2, "third", salted=None).apply(base.record)
    return {**base.files(), "ledger.jsonl": ledger_of(lines_of(changed.entries))}


WITHOUT_SALTED = FileChange(
    "entry-without-salted", "notes", "BODY-002 ENTRY-005", "an entry omits `salted` for a salted body",
    "the body `third` of entry 2 has no `salted`; chain and seal are recomputed", (("L303", 2),), _without_salted,
)  # fmt: skip

FILE_CHANGES = (*HEADERS, *MEMBERS, *REDACTIONS, *COPIES, *TAILS, WITHOUT_SALTED)


def cases(bases: Mapping[str, Base]) -> Iterator[Case]:
    for changed in FILE_CHANGES:
        base = bases[changed.base]
        yield Case(
            name=changed.name,
            title=changed.title,
            requirements=tuple(f"LEDGER-{rule}" for rule in changed.rules.split()),
            level=3,
            files=run_files(changed.change(base)),
            findings=changed.findings,
            not_checked=base.not_checked | set(changed.not_checked),
            derived_from=f"ledger/{base.name}",
            mutation=changed.mutation,
        )
    yield from cases_of(REFERENCES, bases)
