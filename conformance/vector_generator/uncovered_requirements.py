"""Requirements without vectors, or without positive or negative vectors, each with the reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MissingVectors = Literal["any", "positive", "negative"]


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Requirements that have no vectors, or none of one type, for the same reason."""

    lacks: MissingVectors
    """`any` if there are no vectors at all."""
    requirements: str
    """The ids, separated by spaces."""
    reason: str


UNCOVERED: Iterable[Uncovered] = (
    Uncovered(
        "negative",
        "COMPILE-PURE-001 COMPILE-PURE-002 COMPILE-PURE-003 COMPILE-LAYER-002 COMPILE-LAYER-003 COMPILE-UNFOLD-002 "
        "COMPILE-WRITE-001 COMPILE-WRITE-002 COMPILE-WRITE-003 COMPILE-WRITE-004 COMPILE-WRITE-005 COMPILE-WRITE-006 "
        "COMPILE-WRITE-007",
        "it defines the output of a compiler, so no bundle can violate it; the positive vectors compare every byte",
    ),
    Uncovered(
        "negative",
        "MANIFEST-ROSTER-003 MANIFEST-POLICY-001",
        "it defines defaults, and omitting a field is never an error",
    ),
    Uncovered(
        "any",
        "LEDGER-WRITE-001 LEDGER-WRITE-002 LEDGER-WRITE-003 LEDGER-WRITE-004",
        "locks, syncs, their order and the handling of failed syncs leave no trace in a closed file",
    ),
    Uncovered(
        "any",
        "LEDGER-WRITE-005",
        "it defines which values a writer refuses; the protocol gives a program no values to write",
    ),
    Uncovered(
        "any",
        "LEDGER-VERIFY-004",
        "the suite does not measure the memory of a program",
    ),
    Uncovered(
        "negative",
        "LEDGER-VERIFY-005",
        "the protocol has no request for a report, and no request that is a usage error",
    ),
    Uncovered(
        "any",
        "RUN-PAUSE-001",
        "an interruption comes from outside during a run; virtual time has no such moment",
    ),
    Uncovered(
        "any",
        "RUN-GATE-005",
        "a decision comes from outside during a run; virtual time has no such moment",
    ),
    Uncovered(
        "any",
        "RUN-ENGINE-001",
        "each runner chooses its own engines, and entries do not depend on the engine",
    ),
    Uncovered(
        "any",
        "RUN-EXIT-001",
        "a program under test answers with a verdict; the suite does not see the exit code of the command",
    ),
)
