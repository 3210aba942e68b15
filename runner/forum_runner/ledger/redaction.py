"""Redaction: removes the bytes of a body. The entries that refer to it stay unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import BLOCK, PLAIN, REDACTED, SALTED, header
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entry_decoder import EntryDecoder
from forum_runner.ledger.files import LedgerFiles
from forum_runner.ledger.layout import BODIES, LEDGER
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.copies import Copies
from forum_runner.write_file import sync_directory


def find_body(directory: Path, seq: int, name: str) -> tuple[str, Copies]:
    """The digest of body `name` of entry `seq`, and all copies of bodies. The ledger must be verified and locked."""
    reference = None
    number = -1
    copies = Copies()
    decode = EntryDecoder().decode
    with (directory / LEDGER).open("rb") as stream:
        for number, line in enumerate(Lines(stream)):
            entry = decode(line) or check_line(line)
            copies.add(number, entry)
            if number == seq:
                reference = entry.bodies.get(name)
                if reference is None:
                    names = ", ".join(sorted(entry.bodies)) or "none"
                    raise UsageError(f"entry {seq} has no body '{name}'; it has {names}")
    if reference is None:
        raise UsageError(f"no entry {seq}; the last entry is {number}")
    return reference.digest, copies


def remove_bodies(files: LedgerFiles, digests: Iterable[str], copies: Copies) -> None:
    """Overwrites each body with zeros, marks it as redacted, and deletes its copies. Missing bodies are skipped."""
    with (files.directory / BODIES).open("rb") as stream:
        reader = BodyReader(stream)
        for digest in digests:
            for folder in (PLAIN, SALTED):
                location = reader.locate(f"{folder}/{digest}")
                if location is not None:
                    offset, size = location
                    files.overwrite_body(offset - BLOCK, header(f"{REDACTED}/{digest}".encode(), size), size)
            for name in copies.files_of(digest):
                path = files.directory / name
                # A link may lead to a file outside the run directory.
                if path.exists() and not path.parent.is_symlink():
                    path.unlink()
                    sync_directory(path.parent)
