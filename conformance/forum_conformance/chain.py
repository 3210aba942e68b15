"""Level 2: check how each entry follows from the previous lines."""

from itertools import pairwise

from forum_conformance.entry import Entry
from forum_conformance.finding import Findings

FIRST_PREV = "0" * 64
KINDS_AFTER_SEAL = frozenset({"body.redacted", "run.repaired", "run.sealed"})


class ChainChecker:
    """Checks every line in order. The entry of a line is None if level 1 has a finding for it."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._previous_hash = FIRST_PREV
        self._previous: Entry | None = None
        self._is_sealed = False
        self.run: str | None = None

    def check(self, number: int, line_hash: bytes, entry: Entry | None) -> None:
        if entry is not None:
            self._check_links(number, entry)
            self._check_kind(number, entry["kind"])
            self._previous = entry
        self._previous_hash = line_hash.hex()

    def _check_links(self, number: int, entry: Entry) -> None:
        add = self._findings.add
        if entry["prev"] != self._previous_hash:
            add("L201", number, "'prev' is not the hash of the previous line")
        if entry["seq"] != number:
            add("L202", number, f"'seq' is {entry['seq']}, expected {number}")
        if self.run is None:
            self.run = entry["run"]
        if entry["run"] != self.run:
            add("L203", number, f"'run' is {entry['run']}, but the first entry has {self.run}")
        causes = entry["causes"]
        if any(later <= earlier for earlier, later in pairwise(causes)):
            add("L204", number, "'causes' is not in ascending order")
        elif causes and causes[-1] >= number:
            add("L204", number, f"'causes' names {causes[-1]}, which is not an earlier entry")
        if self._previous is not None and entry["at"] < self._previous["at"]:
            add("L205", number, f"'at' is {entry['at']}, earlier than {self._previous['at']} in the previous entry")

    def _check_kind(self, number: int, kind: str) -> None:
        if number == 0 and kind != "run.opened":
            self._findings.add("L206", number, f"the first entry is {kind}, not run.opened")
        if number > 0 and kind == "run.opened":
            self._findings.add("L206", number, "run.opened must be the first entry")
        if self._is_sealed and kind not in KINDS_AFTER_SEAL and not kind.startswith("x-"):
            self._findings.add("L207", number, f"{kind} may not follow a seal")
        self._is_sealed = self._is_sealed or kind == "run.sealed"
