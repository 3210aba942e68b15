"""Reads bodies.tar with a lenient library that does not check headers, padding and trailing bytes.

Breaks LEDGER-TAR-001. Roles: verify.
"""

import hashlib
import sys
import tarfile
from typing import BinaryIO

from forum_conformance import archive
from forum_conformance.archive import SALT_BYTES, SALT_TAG, Archive, Member, Rest
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

scan_correctly = archive.scan


def scan(stream: BinaryIO) -> Archive:
    try:
        with tarfile.open(fileobj=stream, mode="r:") as tar:
            members = tuple(member(tar, item) for item in tar.getmembers())
    except tarfile.TarError:
        return scan_correctly(stream)
    return Archive(members, members[-1].end if members else 0, Rest.END)


def member(tar: tarfile.TarFile, item: tarfile.TarInfo) -> Member:
    stream = tar.extractfile(item)
    content = stream.read() if stream else b""
    is_salted = item.name.startswith("salted/")
    digest = hashlib.sha256(SALT_TAG + content if is_salted else content).hexdigest()
    plain = hashlib.sha256(content[SALT_BYTES:] if is_salted else content).hexdigest()
    return Member(item.name, item.offset_data, item.size, digest, plain, not content.strip(b"\0"))


replace(archive, "scan", scan)
sys.exit(main(JUDGE_ROLES))
