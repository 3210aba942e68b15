"""A pin: the checkpoint of what was last called valid, kept in a file."""

import os
import tempfile
from pathlib import Path

from forum_conformance.note import MAX_BYTES, Checkpoint, checkpoint_text, read_checkpoint
from forum_conformance.report import Facts


def read_pin(path: Path) -> Checkpoint | None:
    """None if nothing was pinned so far. A pin that is malformed says nothing of a ledger, and is not replaced."""
    try:
        with path.open("rb") as stream:
            return read_checkpoint(stream.read(MAX_BYTES + 1))
    except FileNotFoundError:
        return None


def replace_pin(path: Path, facts: Facts) -> None:
    """In one step: a pin that is half written would refuse the ledger that it was made of."""
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
