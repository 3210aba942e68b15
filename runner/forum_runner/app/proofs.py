"""The application's functions for checkpoints, proofs, pins and keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.checkpoint import MAX_CHECKPOINT_BYTES, Checkpoint, MalformedCheckpointError, read_checkpoint
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.ledger.merkle_path import ConsistencyPath, InclusionPath
from forum_runner.ledger.note import MalformedKeyError, Note, SignerKey, VerifierKey
from forum_runner.ledger.proof import ConsistencyProof, InclusionProof, Proof, write_proof
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.chain_level import Chain, checked_entries
from forum_runner.ledger.verification.report import LedgerFindings
from forum_runner.write_file import write_file

_MAX_KEY_FILE_BYTES = 4_096


class EmptyLedgerError(ForumError):
    """A ledger without an entry, so that not even its run is known."""

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, name: str) -> None:
        super().__init__(f"'{name}' has no entry")


@dataclass(frozen=True, slots=True)
class LedgerCheckpoint:
    """A checkpoint of a ledger, and its bytes. The ledger, which may have more entries, `is_sealed` or not."""

    checkpoint: Checkpoint
    is_sealed: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class LedgerProof:
    """A proof about a ledger, and its bytes."""

    proof: Proof
    is_sealed: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class _Covered:
    checkpoint: Checkpoint
    is_sealed: bool

    def note(self, key: SignerKey | None) -> Note:
        note = self.checkpoint.note()
        return note if key is None else note.signed_by(key)


def make_checkpoint(source: LedgerSource, size: int | None, key_file: Path | None) -> LedgerCheckpoint:
    """The checkpoint of the first `size` entries, or of all of them."""
    key = _optional_key(key_file)
    covered = _read(source, size, lambda _seq, _line, _leaf: None)
    return LedgerCheckpoint(covered.checkpoint, covered.is_sealed, covered.note(key).write())


def prove_inclusion(source: LedgerSource, seq: int, size: int | None, key_file: Path | None) -> LedgerProof:
    key = _optional_key(key_file)
    path = InclusionPath(seq)
    lines = []

    def look(number: int, line: bytes, leaf: bytes) -> None:
        path.add(leaf)
        if number == seq:
            lines.append(line)

    covered = _read(source, size, look)
    if not lines:
        raise UsageError(f"no entry {seq}: the ledger has {covered.checkpoint.size}, and the first one is 0")
    proof = InclusionProof(covered.checkpoint, seq, lines[0], path.path())
    return LedgerProof(proof, covered.is_sealed, write_proof(proof, covered.note(key)))


def prove_consistency(source: LedgerSource, from_size: int, size: int | None, key_file: Path | None) -> LedgerProof:
    key = _optional_key(key_file)
    path = ConsistencyPath(from_size)
    older = MerkleTree()

    def look(number: int, _line: bytes, leaf: bytes) -> None:
        path.add(leaf)
        if number < from_size:
            older.add(leaf)

    covered = _read(source, size, look)
    if older.size < from_size:
        raise UsageError(f"{from_size} entries are more than the {covered.checkpoint.size} to prove consistency with")
    proof = ConsistencyProof(covered.checkpoint, from_size, older.root(), path.path())
    return LedgerProof(proof, covered.is_sealed, write_proof(proof, covered.note(key)))


def _optional_key(path: Path | None) -> SignerKey | None:
    """Read before the ledger: a long one is not read for a key that cannot sign."""
    return None if path is None else read_signer_key(path)


def _read(source: LedgerSource, size: int | None, look: Callable[[int, bytes, bytes], None]) -> _Covered:
    """Reads all of a ledger and checks its bytes and chain; `look` is shown the first `size` lines and their hashes."""
    chain, tree = Chain(LedgerFindings()), MerkleTree()
    kind, count = "", 0
    with source.lines() as lines:
        for seq, line, entry, leaf in checked_entries(lines, chain, source.name):
            if size is None or seq < size:
                tree.add(leaf)
                look(seq, line, leaf)
            kind, count = entry.kind, seq + 1
    if chain.run is None:
        raise EmptyLedgerError(source.name)
    if size is not None and size > count:
        raise UsageError(f"'{source.name}' has {count} entries, fewer than {size}")
    return _Covered(Checkpoint(chain.run, tree.size, tree.root()), kind == "run.sealed" and not lines.torn)


def read_pin(path: Path) -> Checkpoint | None:
    """The pin that a file holds; None if there is no such file yet."""
    try:
        with path.open("rb") as stream:
            return read_checkpoint(stream.read(MAX_CHECKPOINT_BYTES + 1))[0]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    except MalformedCheckpointError as error:
        raise UsageError(f"'{path}' is not a pin: {error}") from error


def write_pin(path: Path, pin: Checkpoint) -> None:
    """Only after a verdict of valid: a pin that a bad ledger could replace would protect from nothing."""
    write_file(path, pin.note().write())


def generate_key(name: str, path: Path, random: Callable[[int], bytes] = os.urandom) -> VerifierKey:
    """Writes a new private key to `path`, and its public key to `path` with `.pub` after it."""
    try:
        key = SignerKey.generate(name, random)
    except MalformedKeyError as error:
        raise UsageError(f"{name!r} cannot be the name of a key: {error}") from error
    public = Path(f"{path}.pub")
    if os.path.lexists(public):
        raise UsageError(f"not overwriting '{public}'")
    _create(path, f"{key.write()}\n", 0o600)
    try:
        _create(public, f"{key.verifier().write()}\n", 0o644)
    except BaseException:
        path.unlink()
        raise
    return key.verifier()


def read_signer_key(path: Path) -> SignerKey:
    try:
        return SignerKey.read(_key_text(path))
    except MalformedKeyError as error:
        raise UsageError(f"'{path}' is not a private key: {error}") from error


def read_verifier_key(path: Path) -> VerifierKey:
    try:
        return VerifierKey.read(_key_text(path))
    except MalformedKeyError as error:
        raise UsageError(f"'{path}' is not a public key: {error}") from error


def _key_text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_MAX_KEY_FILE_BYTES).decode().strip(" \t\r\n")
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not a key: it is not UTF-8") from error


def _create(path: Path, text: str, mode: int) -> None:
    """A file that is not there yet, with its mode from the beginning: nobody else can open a private key in between."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        raise UsageError(f"not overwriting '{path}'") from error
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        path.unlink()
        raise
