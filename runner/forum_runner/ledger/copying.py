"""Writes the plain copies again that a killed writer did not come to write."""

from __future__ import annotations

from pathlib import Path, PurePath

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES, CHECKPOINT, OUTPUTS, WAVE_PLAN
from forum_runner.ledger.verification.copies import Copies
from forum_runner.write_file import remove_leftovers, write_file


def restore_copies(directory: Path, copies: Copies) -> None:
    """Every copy that is absent, or not what it copies; what writes left behind that were killed is taken away."""
    outputs = directory / OUTPUTS
    if outputs.is_symlink():
        return
    remove_leftovers(directory, (CHECKPOINT, WAVE_PLAN))
    if outputs.is_dir():
        remove_leftovers(outputs, {PurePath(file).name for file, _ in copies})
    with (directory / BODIES).open("rb") as stream:
        reader = BodyReader(stream)
        for file, body in copies:
            data = reader.read(body)
            if data is not None:
                _restore(directory / file, data)


def _restore(path: Path, data: bytes) -> None:
    # A link may lead out of the run directory, to a file that is none of ours.
    if path.is_symlink():
        path.unlink()
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(exist_ok=True)
        write_file(path, data)
