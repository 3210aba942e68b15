"""The plain files in a run directory that copy bodies: the wave plan and the outputs."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath

from forum_runner.errors import UsageError
from forum_runner.ledger.body import copy_name
from forum_runner.ledger.body_index import BodyIndex
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entries import AnswerGiven, AnyEntry, RunOpened
from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.layout import BODIES, CHECKPOINT, OUTPUTS, WAVE_PLAN
from forum_runner.ledger.verification.report import LedgerFindings
from forum_runner.write_file import remove_leftovers, write_file


class Copies:
    """Collects the copies that a run directory must have, from its entries. The last record of an output counts."""

    def __init__(self) -> None:
        # By path relative to the run directory: the seq of the entry, and its body.
        self._copies: dict[str, tuple[int, BodyReference]] = {}
        self._file_of: dict[str, str] = {}

    def add(self, seq: int, entry: AnyEntry) -> None:
        data, bodies = entry.data, entry.bodies
        if isinstance(data, AnswerGiven):
            output = data.output
            file = f"{OUTPUTS}/{copy_name(output, bodies['value'].type)}"
            self._copies.pop(self._file_of.get(output, ""), None)
            self._file_of[output] = file
            self._copies[file] = (seq, bodies["value"])
        elif isinstance(data, RunOpened) and "wave_plan" in bodies:
            self._copies[WAVE_PLAN] = (seq, bodies["wave_plan"])

    def outputs(self) -> set[str]:
        """The names of the recorded outputs."""
        return set(self._file_of)

    def files_of(self, digest: str) -> list[str]:
        """The copies of a body, as paths relative to the run directory."""
        return [file for file, (_, body) in self._copies.items() if body.digest == digest]

    def check(
        self, directory: Path, index: BodyIndex, bodies: BodyReader, findings: LedgerFindings, *, is_sealed: bool
    ) -> None:
        """Adds a finding for each copy that is wrong, redacted or (in a sealed run) missing, and each unknown file."""
        for file, (seq, body) in self._copies.items():
            path = directory / file
            digest = bytes.fromhex(body.digest)
            if not path.exists() and not path.is_symlink():
                if is_sealed and digest not in index.redacted:
                    findings.add("L308", seq, f"{file} is missing")
            elif digest in index.redacted:
                first = index.first_reference(digest)
                first_seq = first.seq if first is not None else seq
                findings.add("L306", first_seq, f"{file} still contains a body that is redacted")
            elif path.is_symlink() or not path.is_file():
                findings.add("L308", seq, f"{file} is not a regular file")
            elif not _is_copy(path, body, bodies):
                findings.add("L308", seq, f"{file} differs from the recorded body")
        outputs = directory / OUTPUTS
        for name in sorted(path.name for path in outputs.iterdir()) if outputs.is_dir() else ():
            if f"{OUTPUTS}/{name}" not in self._copies and not name.startswith("."):
                findings.add("L308", None, f"{OUTPUTS}/{name} is not an output of this run")

    def restore(self, directory: Path) -> None:
        """Writes each copy that is missing or wrong, and removes the temporary files of killed writers.

        A redacted body has no copy.
        """
        outputs = directory / OUTPUTS
        remove_leftovers(directory, (CHECKPOINT, WAVE_PLAN))
        if outputs.is_dir():
            remove_leftovers(outputs, {PurePath(file).name for file in self._copies})
        with (directory / BODIES).open("rb") as stream:
            reader = BodyReader(stream)
            for file, (_, body) in self._copies.items():
                data = reader.read(body)
                if data is not None:
                    _restore(directory / file, data)


def _restore(path: Path, data: bytes) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(exist_ok=True)
        write_file(path, data)


def _is_copy(path: Path, body: BodyReference, bodies: BodyReader) -> bool:
    try:
        with path.open("rb") as stream:
            if body.salted is None:
                return bool(hashlib.file_digest(stream, "sha256").hexdigest() == body.digest)
            # The digest includes the salt, so the bytes are compared. A missing or wrong body has its own finding.
            original = bodies.read(body)
            return original is None or stream.read(len(original) + 1) == original
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
