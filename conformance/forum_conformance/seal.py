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
class Held:
    """A checkpoint or pin that matches the ledger."""

    source: str
    size: int
    signed_by: str | None


# The members that a later seal repeats.
_REPEATED_MEMBERS = ("status", "counts", "totals")


class Seals:
    """Receives every line in order, then checks seals and witnesses."""

    def __init__(self, witnesses: Iterable[Witness]) -> None:
        self.findings = Findings()
        self.tree = Tree()
        self.held: list[Held] = []
        self._witnesses = tuple(witnesses)
        self._before: Mapping[str, Any] | None = None
        # Store the needed roots while the tree grows: it cannot compute earlier ones.
        self._roots = {
            witness.checkpoint.size: b"" for witness in self._witnesses if isinstance(witness.checkpoint, Checkpoint)
        }
        self._keep_root()

    def check(self, number: int, line_hash: bytes, entry: Entry | None) -> None:
        if entry is not None and entry["kind"] == "run.sealed":
            self._check_seal(number, entry["data"])
        self.tree.add(line_hash)
        self._keep_root()

    def _check_seal(self, number: int, data: Mapping[str, Any]) -> None:
        before = data if self._before is None else self._before
        other = [name for name in _REPEATED_MEMBERS if data[name] != before[name]]
        if other:
            self.findings.add("L504", number, f"{' and '.join(other)} of the seal differ from the previous seal")
        if data["root"] != self.tree.root().hex():
            self.findings.add("L505", number, "the seal's root is not the root of the entries before it")
        self._before = data

    def _keep_root(self) -> None:
        if self.tree.size in self._roots:
            self._roots[self.tree.size] = self.tree.root()

    def finish(self, *, is_last_a_seal: bool, torn_bytes: int) -> None:
        if self.tree.size == 0:
            self.findings.add("L502", None, "the ledger has no lines")
        elif not is_last_a_seal:
            self.findings.add("L501", None, "the last line is not a seal")
        if torn_bytes:
            self.findings.add("L503", self.tree.size, f"{torn_bytes} bytes follow the last LF")

    def compare_witnesses(self, run: str | None, key: PublicKey | None) -> None:
        sources = {witness.source for witness in self._witnesses}
        # A key applies to the given checkpoint only. A pin is the judge's own and unsigned.
        signed = "given" if "given" in sources else "directory"
        for witness in self._witnesses:
            self._compare(witness, run, key if witness.source == signed else None)

    def _compare(self, witness: Witness, run: str | None, key: PublicKey | None) -> None:
        source, checkpoint = witness.source, witness.checkpoint
        name = "the pin" if source == "pin" else f"the checkpoint ({source})"
        more, other = ("L512", "L513") if source == "pin" else ("L508", "L509")
        if isinstance(checkpoint, MalformedCheckpoint):
            self.findings.add("L506", None, f"{name} is malformed: {checkpoint}")
        elif key and not checkpoint.is_signed_by(key):
            self.findings.add("L510", None, f"{name} is not signed by the key of '{key.name}'")
        elif checkpoint.run != run:
            self.findings.add("L507", None, f"{name} belongs to run {checkpoint.run}")
        elif checkpoint.size > self.tree.size:
            self.findings.add(
                more, None, f"{name} covers {checkpoint.size} entries, but the ledger has {self.tree.size}"
            )
        elif checkpoint.root != self._roots[checkpoint.size]:
            self.findings.add(other, None, f"{name} has another root for {checkpoint.size} entries")
        else:
            self.held.append(Held(source, checkpoint.size, key.name if key else None))

    def compare_head(self, head: str | None, expected: str) -> None:
        if head != expected:
            self.findings.add("L511", None, f"the head is {head}, expected {expected}")


def witness_of(source: str, data: bytes) -> Witness:
    try:
        return Witness(source, read_checkpoint(data))
    except MalformedCheckpoint as error:
        return Witness(source, error)
