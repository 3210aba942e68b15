"""The first pass over a ledger: levels 1 and 2, and the facts that later levels need."""

from dataclasses import dataclass
from typing import BinaryIO

from forum_conformance.chain import Chain
from forum_conformance.entry import Entry, read_entry
from forum_conformance.finding import Finding, Findings
from forum_conformance.lines import Lines
from forum_conformance.seal import Seals


@dataclass(frozen=True, slots=True)
class Reading:
    run: str | None
    entries: int
    head: str | None
    status: str | None
    """The status of the run; None if the last line is not a seal."""
    torn_bytes: int
    redacted: int

    @property
    def is_last_a_seal(self) -> bool:
        return self.status is not None


def read_through(stream: BinaryIO, seals: Seals, findings: Findings) -> Reading:
    chain = Chain(findings)
    head: str | None = None
    last: Entry | None = None
    redacted: set[str] = set()
    lines = Lines(stream)
    for line in lines:
        found = read_entry(line)
        last = None if isinstance(found, Finding) else found
        if isinstance(found, Finding):
            findings.take(found)
        elif found["kind"] == "body.redacted":
            redacted.add(found["data"]["digest"])
        chain.check(line.number, line.hash, last)
        seals.check(line.number, line.hash, last)
        head = line.hash.hex()
    status = last["data"]["status"] if last and last["kind"] == "run.sealed" else None
    return Reading(chain.run, seals.tree.size, head, status, lines.torn_bytes, len(redacted))
