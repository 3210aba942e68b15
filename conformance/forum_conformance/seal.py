"""Level 5: check that the ledger is complete and matches its seals, checkpoints and pins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forum_conformance.entry import Entry
from forum_conformance.finding import Findings
from forum_conformance.merkle import Tree
from forum_conformance.note import Checkpoint, MalformedCheckpoint, PublicKey, read_checkpoint


@dataclass(frozen=True, slots=True)
class Witness:
    """A checkpoint or pin, and its source: `directory`, `given` or `pin`."""

    source: str
    checkpoint: Checkpoint | MalformedCheckpoint


@dataclass(frozen=True, slots=True)
class MatchingCheckpoint:
    """A checkpoint or pin that matches the ledger."""

    source: str
    size: int
    signed_by: str | None


# A later seal must repeat these members.
_REPEATED_MEMBERS = ("status", "counts", "totals")


class Seals:
    """Receives every line in order and checks the seals; then checks the end of the ledger and the witnesses."""

    def __init__(self, witnesses: Iterable[Witness]) -> None:
        self.findings = Findings()
        self.tree = Tree()
        self.matching: list[MatchingCheckpoint] = []
        self._witnesses = tuple(witnesses)
        self._previous_seal: Mapping[str, Any] | None = None
        # The roots of the witnesses' sizes, stored while the tree grows: it cannot compute them later.
        self._roots = {
            witness.checkpoint.size: b"" for witness in self._witnesses if isinstance(witness.checkpoint, Checkpoint)
        }
        self._store_root()

    def check(self, number: int, line_hash: bytes, entry: Entry | None) -> None:
        if entry is not None and entry["kind"] == "run.sealed":
            self._check_seal(number, entry["data"])
        self.tree.add(line_hash)
        self._store_root()

    def _check_seal(self, number: int, data: Mapping[str, Any]) -> None:
        previous = data if self._previous_seal is None else self._previous_seal
        differing = [name for name in _REPEATED_MEMBERS if data[name] != previous[name]]
        if differing:
            self.findings.add("L504", number, f"the seal differs from the previous one in {' and '.join(differing)}")
        if data["root"] != self.tree.root().hex():
            self.findings.add("L505", number, "the seal's root is not the root of the entries before it")
        self._previous_seal = data

    def _store_root(self) -> None:
        if self.tree.size in self._roots:
            self._roots[self.tree.size] = self.tree.root()

    def finish(self, *, ends_with_seal: bool, torn_bytes: int) -> None:
        if self.tree.size == 0:
            self.findings.add("L502", None, "the ledger has no lines")
        elif not ends_with_seal:
            self.findings.add("L501", None, "the last line is not a seal")
        if torn_bytes:
            self.findings.add("L503", self.tree.size, f"{torn_bytes} byte{'s' * (torn_bytes != 1)} after the last LF")

    def compare_witnesses(self, run: str | None, key: PublicKey | None) -> None:
        sources = {witness.source for witness in self._witnesses}
        # A key applies to one checkpoint: the given one or, without it, the directory's. A pin is the judge's own.
        signed_source = "given" if "given" in sources else "directory"
        for witness in self._witnesses:
            self._compare(witness, run, key if witness.source == signed_source else None)

    def _compare(self, witness: Witness, run: str | None, key: PublicKey | None) -> None:
        source, checkpoint = witness.source, witness.checkpoint
        name = "the pin" if source == "pin" else f"the checkpoint ({source})"
        too_large, other_root = ("L512", "L513") if source == "pin" else ("L508", "L509")
        if isinstance(checkpoint, MalformedCheckpoint):
            self.findings.add("L506", None, f"{name} is malformed: {checkpoint}")
        elif key and not checkpoint.is_signed_by(key):
            self.findings.add("L510", None, f"{name} is not signed by the key of '{key.name}'")
        elif checkpoint.run != run:
            self.findings.add("L507", None, f"{name} belongs to run {checkpoint.run}")
        elif checkpoint.size > self.tree.size:
            self.findings.add(
                too_large, None, f"{name} covers {checkpoint.size} entries, but the ledger has only {self.tree.size}"
            )
        elif checkpoint.root != self._roots[checkpoint.size]:
            self.findings.add(other_root, None, f"{name} has a different root for size {checkpoint.size}")
        else:
            self.matching.append(MatchingCheckpoint(source, checkpoint.size, key.name if key else None))

    def compare_head(self, head: str | None, expected: str) -> None:
        if head != expected:
            self.findings.add("L511", None, f"the head is {head}, expected {expected}")


def read_witness(source: str, data: bytes) -> Witness:
    """The witness in a file. A malformed checkpoint is a witness, too, and leads to a finding."""
    try:
        return Witness(source, read_checkpoint(data))
    except MalformedCheckpoint as error:
        return Witness(source, error)
