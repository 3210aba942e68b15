"""Read and replace a pin: a file with the checkpoint of the last valid state of a ledger."""

import os
import tempfile
from pathlib import Path

from forum_conformance.note import MAX_BYTES, Checkpoint, checkpoint_text, read_checkpoint
from forum_conformance.report import Facts


def read_pin(path: Path) -> Checkpoint | None:
    """The pin, or None if the file does not exist. Raises MalformedCheckpoint: a malformed pin is never replaced."""
    try:
        with path.open("rb") as stream:
            return read_checkpoint(stream.read(MAX_BYTES + 1))
    except FileNotFoundError:
        return None


def replace_pin(path: Path, facts: Facts) -> None:
    """Write atomically: a half-written pin would reject its own ledger."""
    if facts.run is None or facts.root is None:
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
        try:
            stream.write(checkpoint_text(facts.run, facts.entries, bytes.fromhex(facts.root)))
            stream.flush()
            os.fsync(stream.fileno())
            Path(stream.name).replace(path)
        except BaseException:
            Path(stream.name).unlink(missing_ok=True)
            raise
