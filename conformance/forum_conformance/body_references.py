"""The bodies that the entries of a ledger refer to, in order, and the redacted ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forum_conformance.archive import SALT_BYTES
from forum_conformance.entry import Entry
from forum_conformance.finding import Findings


@dataclass(frozen=True, slots=True)
class Body:
    """An entry's reference to a body."""

    digest: str
    size: int
    type: str
    is_salted: bool
    seq: int
    """The entry that refers to the body."""

    @property
    def member_size(self) -> int:
        return self.size + (SALT_BYTES if self.is_salted else 0)

    @property
    def folder(self) -> str:
        return "salted" if self.is_salted else "sha256"


def bodies_of(entry: Entry) -> dict[str, Body]:
    """The bodies of an entry, in the order of their names."""
    return {name: _body(entry["seq"], fields) for name, fields in sorted(entry["bodies"].items())}


def _body(seq: int, fields: Mapping[str, Any]) -> Body:
    return Body(fields["digest"], fields["bytes"], fields["type"], "salted" in fields, seq)


class BodyReferences:
    """Collects the bodies of all entries, which it receives in order."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.first: dict[str, Body] = {}
        """The first reference to each body, by digest, in the order of the entries."""
        self.redacted: set[str] = set()
        """The digests of redacted bodies."""
        self.outputs: dict[str, Body] = {}
        """The values of the run's outputs, by name."""
        self.wave_plan: Body | None = None

    def check(self, entry: Entry) -> None:
        bodies = bodies_of(entry)
        # Check this before adding the entry's own bodies: a redaction concerns a body of an earlier entry.
        redacted = self._redacted_by(entry)
        for body in bodies.values():
            self._add_reference(body)
        self.redacted |= redacted
        if entry["kind"] == "answer.given":
            self.outputs[entry["data"]["output"]] = bodies["value"]
        if entry["kind"] == "run.opened":
            self.wave_plan = bodies.get("wave_plan")

    def _redacted_by(self, entry: Entry) -> set[str]:
        if entry["kind"] != "body.redacted":
            return set()
        digest = entry["data"]["digest"]
        if digest not in self.first:
            self._findings.add("L309", entry["seq"], f"{digest} is redacted, but no earlier entry refers to it")
        elif digest in self.redacted:
            self._findings.add("L309", entry["seq"], f"{digest} is already redacted")
        return {digest}

    def _add_reference(self, body: Body) -> None:
        if body.digest in self.redacted:
            self._findings.add("L309", body.seq, f"the entry refers to {body.digest}, which is redacted")
        first = self.first.setdefault(body.digest, body)
        if (body.size, body.is_salted) != (first.size, first.is_salted):
            self._findings.add(
                "L303", body.seq, f"{body.digest} has a different size or salt than in its first reference"
            )
