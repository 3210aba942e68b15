"""The plain files of a run directory that copy bodies: the wave plan and the answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forum_runner.errors import UsageError
from forum_runner.ledger.body import copy_name
from forum_runner.ledger.body_index import BodyIndex
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entries import AnswerGiven, AnyEntry, RunOpened
from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.layout import OUTPUTS, WAVE_PLAN
from forum_runner.ledger.verification.report import LedgerFindings


@dataclass(frozen=True, slots=True)
class _Copy:
    seq: int
    body: BodyReference


class Copies:
    """Collects what is copied while the entries go by; of several answers of one name the last counts."""

    def __init__(self) -> None:
        self._copies: dict[str, _Copy] = {}
        self._file_of: dict[str, str] = {}

    def observe(self, seq: int, entry: AnyEntry) -> None:
        data, bodies = entry.data, entry.bodies
        if isinstance(data, AnswerGiven):
            output = data.output
            file = f"{OUTPUTS}/{copy_name(output, bodies['value'].type)}"
            self._copies.pop(self._file_of.get(output, ""), None)
            self._file_of[output] = file
            self._copies[file] = _Copy(seq, bodies["value"])
        elif isinstance(data, RunOpened) and "wave_plan" in bodies:
            self._copies[WAVE_PLAN] = _Copy(seq, bodies["wave_plan"])

    def __iter__(self) -> Iterator[tuple[str, BodyReference]]:
        """Each copy: its path from the run directory, and the body as the entry names it."""
        return ((file, copy.body) for file, copy in self._copies.items())

    def outputs(self) -> set[str]:
        """The outputs that were given."""
        return set(self._file_of)

    def files_of(self, digest: str) -> list[str]:
        """The copies of a body, as paths from the run directory."""
        return [file for file, copy in self._copies.items() if copy.body.digest == digest]

    def check(
        self, directory: Path, index: BodyIndex, bodies: BodyReader, findings: LedgerFindings, *, is_sealed: bool
    ) -> None:
        for file, copy in self._copies.items():
            path = directory / file
            digest = bytes.fromhex(copy.body.digest)
            naming = index.naming(digest)
            if not path.exists() and not path.is_symlink():
                if is_sealed and digest not in index.redacted:
                    findings.add("L308", copy.seq, f"{file} is missing")
            elif digest in index.redacted:
                seq = naming.seq if naming is not None else copy.seq
                findings.add("L306", seq, f"{file} is a copy of a body that is redacted, and is still there")
            elif not _is_copy(path, copy.body, bodies):
                findings.add("L308", copy.seq, f"{file} is not what the record holds")
        self._check_others(directory, findings)

    def _check_others(self, directory: Path, findings: LedgerFindings) -> None:
        outputs = directory / OUTPUTS
        names = sorted(path.name for path in outputs.iterdir()) if outputs.is_dir() else []
        for name in names:
            if f"{OUTPUTS}/{name}" not in self._copies and not name.startswith("."):
                findings.add("L308", None, f"{OUTPUTS}/{name} is no answer of this run")


def _is_copy(path: Path, body: BodyReference, bodies: BodyReader) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            if body.salted is None:
                return bool(hashlib.file_digest(stream, "sha256").hexdigest() == body.digest)
            # Without its salt a copy cannot be told from another; a body that is missing or wrong has its own finding.
            original = bodies.read(body)
            return original is None or stream.read(len(original) + 1) == original
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
