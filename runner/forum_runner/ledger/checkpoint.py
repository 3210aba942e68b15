"""Checkpoints of ledgers, in the format C2SP tlog-checkpoint. A pin is a checkpoint that a verifier stored."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path

from forum_runner.canonical import MAX_INTEGER
from forum_runner.errors import ForumError, UsageError
from forum_runner.ledger.entry_values import RunId, fits
from forum_runner.ledger.note import MalformedNoteError, Note, VerifierKey, from_base64, read_note
from forum_runner.ledger.verification.report import LedgerFinding

_SIZE_LINE = re.compile(r"0|[1-9][0-9]{0,15}")
_ROOT_BYTES = 32
MAX_CHECKPOINT_BYTES = 1 << 20

# The words for a checkpoint in findings. `PIN` is also the source of a pin in a report.
CHECKPOINT_LABEL = "checkpoint"
PIN = "pin"
_TOO_LARGE_CODES = {CHECKPOINT_LABEL: "L508", PIN: "L512"}
_DIFFERENT_ROOT_CODES = {CHECKPOINT_LABEL: "L509", PIN: "L513"}


class MalformedCheckpointError(ForumError):
    """Bytes that are not a checkpoint, signed or not."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`root` is the Merkle root of the first `size` entries of a run's ledger."""

    run: str
    size: int
    root: bytes

    def note(self) -> Note:
        """The checkpoint as a note without signatures."""
        return Note(f"forum/{self.run}\n{self.size}\n{base64.b64encode(self.root).decode()}\n")


def read_checkpoint(data: bytes) -> tuple[Checkpoint, Note]:
    """Parses a checkpoint. Returns it with its note, which has the signatures, if any. Raises if it is malformed."""
    if b"\n\n" not in data:
        # Text outside ASCII fails the rules for the three lines.
        text = data.decode("ascii", "replace")
        return _read_text(text), Note(text)
    try:
        note = read_note(data)
    except MalformedNoteError as error:
        raise MalformedCheckpointError(str(error)) from error
    return _read_text(note.text), note


def read_checkpoint_file(path: Path) -> bytes:
    """The bytes of the file, at most one more than the maximum.

    A pipe or device, and a link that does not lead to a regular file, has none. Reading a pipe could block.
    """
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_CHECKPOINT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error


def open_checkpoint(data: bytes, key: VerifierKey | None) -> Checkpoint | LedgerFinding:
    """Parses a checkpoint. Returns a finding if it is malformed or too long (L506), or not signed by `key` (L510)."""
    if len(data) > MAX_CHECKPOINT_BYTES:
        return LedgerFinding("L506", None, f"the checkpoint has more than {MAX_CHECKPOINT_BYTES:,} bytes")
    try:
        checkpoint, note = read_checkpoint(data)
    except MalformedCheckpointError as error:
        return LedgerFinding("L506", None, f"the checkpoint is malformed: {error}")
    if key is not None and not note.is_signed_by(key):
        return LedgerFinding("L510", None, f"the checkpoint is not signed by the key '{key.name}'")
    return checkpoint


def compare_checkpoint(
    checkpoint: Checkpoint, run: str, size: int, root: bytes | None, label: str = CHECKPOINT_LABEL
) -> LedgerFinding | None:
    """The finding if a checkpoint, or a pin, disagrees with a ledger of `size` entries; None if it agrees.

    `root` is the root of the ledger's first `checkpoint.size` entries, None if it is unknown. `label` is what
    the finding calls the checkpoint.
    """
    if checkpoint.run != run:
        return LedgerFinding("L507", None, f"the {label} belongs to run {checkpoint.run}, not {run}")
    if checkpoint.size > size:
        sentence = f"the {label}'s size is {checkpoint.size}, larger than the ledger's size of {size}"
        return LedgerFinding(_TOO_LARGE_CODES[label], None, sentence)
    if checkpoint.root != root:
        sentence = f"the {label}'s root differs from the ledger's root at size {checkpoint.size}"
        return LedgerFinding(_DIFFERENT_ROOT_CODES[label], None, sentence)
    return None


def _read_text(text: str) -> Checkpoint:
    lines = text.split("\n")
    if len(lines) != 4 or lines[3]:
        raise MalformedCheckpointError("its text is not three lines that end with LF")
    prefix, _, run = lines[0].partition("/")
    if prefix != "forum" or not fits(run, RunId):
        raise MalformedCheckpointError("its first line is not 'forum/' and a run id")
    if not _SIZE_LINE.fullmatch(lines[1]) or int(lines[1]) > MAX_INTEGER:
        raise MalformedCheckpointError("its second line is not a decimal number")
    root = from_base64(lines[2])
    if root is None or len(root) != _ROOT_BYTES:
        raise MalformedCheckpointError("its third line is not a root in base64")
    return Checkpoint(run, int(lines[1]), root)
