"""Creates checkpoints, proofs and keys, and reads pins and keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.checkpoint import MAX_CHECKPOINT_BYTES, Checkpoint, MalformedCheckpointError, read_checkpoint
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.ledger.merkle_path import ConsistencyPath, InclusionPath
from forum_runner.ledger.note import MalformedKeyError, Note, SignerKey, VerifierKey
from forum_runner.ledger.proof import ConsistencyProof, InclusionProof, Proof, serialize_proof
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.chain_level import checked_entries
from forum_runner.manifest.units import counted

_MAX_KEY_FILE_BYTES = 4_096
_Key = TypeVar("_Key", SignerKey, VerifierKey)


class EmptyLedgerError(ForumError):
    """The ledger has no entry, so its run is unknown."""

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, name: str) -> None:
        super().__init__(f"'{name}' has no entries")


@dataclass(frozen=True, slots=True)
class LedgerCheckpoint:
    """A checkpoint of a ledger, and its bytes.

    `is_sealed` says whether the whole ledger is sealed, even if the checkpoint covers only its first entries.
    """

    checkpoint: Checkpoint
    is_sealed: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class LedgerProof:
    """A proof about a ledger, and its bytes. `is_sealed` says whether the whole ledger is sealed."""

    proof: Proof
    is_sealed: bool
    data: bytes


def make_checkpoint(source: LedgerSource, size: int | None, key_file: Path | None) -> LedgerCheckpoint:
    """Creates a checkpoint of the first `size` entries, or of all entries."""
    key = _optional_key(key_file)
    checkpoint, is_sealed = _read_ledger(source, size, lambda _seq, _line, _leaf: None)
    return LedgerCheckpoint(checkpoint, is_sealed, _note(checkpoint, key).encode())


def prove_inclusion(source: LedgerSource, seq: int, size: int | None, key_file: Path | None) -> LedgerProof:
    key = _optional_key(key_file)
    builder = InclusionPath(seq)
    lines = []

    def observe(number: int, line: bytes, leaf: bytes) -> None:
        builder.add(leaf)
        if number == seq:
            lines.append(line)

    checkpoint, is_sealed = _read_ledger(source, size, observe)
    if not lines:
        covered = counted(checkpoint.size, "entry", "entries")
        raise UsageError(f"entry {seq} is not in the checkpoint, which covers {covered}, numbered from 0")
    proof = InclusionProof(checkpoint, seq, lines[0], builder.hashes())
    return LedgerProof(proof, is_sealed, serialize_proof(proof, _note(checkpoint, key)))


def prove_consistency(source: LedgerSource, from_size: int, size: int | None, key_file: Path | None) -> LedgerProof:
    _check_size(from_size)
    key = _optional_key(key_file)
    builder = ConsistencyPath(from_size)
    older = MerkleTree()

    def observe(number: int, _line: bytes, leaf: bytes) -> None:
        builder.add(leaf)
        if number < from_size:
            older.add(leaf)

    checkpoint, is_sealed = _read_ledger(source, size, observe)
    if older.size < from_size:
        sizes = f"{counted(from_size, 'entry', 'entries')}: the checkpoint covers only {checkpoint.size:,}"
        raise UsageError(f"cannot prove consistency with {sizes}")
    proof = ConsistencyProof(checkpoint, from_size, older.root(), builder.hashes())
    return LedgerProof(proof, is_sealed, serialize_proof(proof, _note(checkpoint, key)))


def _optional_key(path: Path | None) -> SignerKey | None:
    """Reads the key, if a path is given. Call this before reading the ledger, so that an invalid key fails at once."""
    return None if path is None else _read_key(path, SignerKey.parse, "private")


def _note(checkpoint: Checkpoint, key: SignerKey | None) -> Note:
    return checkpoint.note() if key is None else checkpoint.note().with_signature(key)


def _read_ledger(
    source: LedgerSource, size: int | None, observe: Callable[[int, bytes, bytes], None]
) -> tuple[Checkpoint, bool]:
    """Reads a whole ledger and checks its bytes and chain. Returns a checkpoint and whether the ledger is sealed.

    `observe` gets the number, the bytes and the hash of each of the first `size` lines.
    """
    if size is not None:
        _check_size(size)
    tree = MerkleTree()
    run, kind, count = "", "", 0
    with source.lines() as lines:
        for seq, line, entry, leaf in checked_entries(lines, source.name):
            if size is None or seq < size:
                tree.add(leaf)
                observe(seq, line, leaf)
            run, kind, count = entry.run, entry.kind, seq + 1
    if not count:
        raise EmptyLedgerError(source.name)
    if size is not None and size > count:
        raise UsageError(f"'{source.name}' has only {counted(count, 'entry', 'entries')}, fewer than {size:,}")
    return Checkpoint(run, tree.size, tree.root()), kind == "run.sealed" and not lines.torn


def _check_size(size: int) -> None:
    if size < 0:
        raise UsageError(f"a ledger cannot have {size:,} entries; use a size of 0 or more")


def read_pin(path: Path) -> Checkpoint | None:
    """The checkpoint in a pin file; None if the file does not exist."""
    if not path.exists():
        return None
    try:
        return read_checkpoint(read_bytes(path, MAX_CHECKPOINT_BYTES))[0]
    except MalformedCheckpointError as error:
        raise UsageError(f"'{path}' is not a valid pin file: {error}") from error


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Reads at most `max_bytes` + 1 bytes, so that a caller can detect a longer file. `-` is standard input."""
    try:
        with path.open("rb") if str(path) != "-" else open(0, "rb", closefd=False) as stream:
            return stream.read(max_bytes + 1)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error


def generate_key(name: str, path: Path, random: Callable[[int], bytes] = os.urandom) -> VerifierKey:
    """Writes a private key to `path`, and its public key, which is returned, to the same path with `.pub`."""
    try:
        key = SignerKey.generate(name, random)
    except MalformedKeyError as error:
        raise UsageError(f"invalid key name {name!r}: {error}") from error
    public = Path(f"{path}.pub")
    if os.path.lexists(public):
        raise UsageError(f"'{public}' already exists; not overwriting it")
    _create(path, f"{key.encode()}\n", 0o600)
    try:
        _create(public, f"{key.verifier().encode()}\n", 0o644)
    except BaseException:
        path.unlink()
        raise
    return key.verifier()


def read_verifier_key(path: Path) -> VerifierKey:
    return _read_key(path, VerifierKey.parse, "public")


def _read_key(path: Path, parse: Callable[[str], _Key], kind: str) -> _Key:
    try:
        return parse(read_bytes(path, _MAX_KEY_FILE_BYTES).decode().strip(" \t\r\n"))
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not a key: it is not UTF-8") from error
    except MalformedKeyError as error:
        raise UsageError(f"'{path}' is not a {kind} key: {error}") from error


def _create(path: Path, text: str, mode: int) -> None:
    """Creates a file with its final mode, so that a private key is never readable by other users."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        raise UsageError(f"'{path}' already exists; not overwriting it") from error
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        path.unlink()
        raise
