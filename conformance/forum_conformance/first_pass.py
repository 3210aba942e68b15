"""The first pass over a ledger: levels 1 and 2, and the facts that later levels need."""

from dataclasses import dataclass
from typing import BinaryIO

from forum_conformance.chain import ChainChecker
from forum_conformance.entry import Entry, read_entry
from forum_conformance.finding import Finding, Findings
from forum_conformance.lines import Lines
from forum_conformance.seal import Seals


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The result of the first pass."""

    run: str | None
    entries: int
    head: str | None
    """The hash of the last line; None if there is none."""
    status: str | None
    """The status of the run; None if the last line is not a seal."""
    torn_bytes: int
    """The number of bytes after the last LF."""
    redacted: int
    """The number of redacted bodies."""

    @property
    def ends_with_seal(self) -> bool:
        return self.status is not None


def read_ledger(stream: BinaryIO, seals: Seals, findings: Findings) -> FirstPass:
    """Check levels 1 and 2, and show every line to `seals`."""
    chain = ChainChecker(findings)
    head: str | None = None
    last: Entry | None = None
    redacted: set[str] = set()
    lines = Lines(stream)
    for line in lines:
        result = read_entry(line)
        last = None if isinstance(result, Finding) else result
        if isinstance(result, Finding):
            findings.add_finding(result)
        elif result["kind"] == "body.redacted":
            redacted.add(result["data"]["digest"])
        chain.check(line.number, line.hash, last)
        seals.check(line.number, line.hash, last)
        head = line.hash.hex()
    status = last["data"]["status"] if last and last["kind"] == "run.sealed" else None
    return FirstPass(chain.run, seals.tree.size, head, status, lines.torn_bytes, len(redacted))
