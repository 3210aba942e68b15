"""Requirements without a vector, or without a negative one, and the reason for each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Lack = Literal["any", "positive", "negative"]


@dataclass(frozen=True, slots=True)
class Beyond:
    lacks: Lack
    requirements: str
    """The ids, with a space between them."""
    reason: str


BEYOND: Iterable[Beyond] = (
    Beyond(
        "negative",
        "COMPILE-PURE-001 COMPILE-PURE-002 COMPILE-PURE-003 COMPILE-LAYER-002 COMPILE-LAYER-003 COMPILE-UNFOLD-002 "
        "COMPILE-WRITE-001 COMPILE-WRITE-002 COMPILE-WRITE-003 COMPILE-WRITE-004 COMPILE-WRITE-005 COMPILE-WRITE-006 "
        "COMPILE-WRITE-007",
        "it says what a compiler writes, and no bundle can break it; the positive vectors expect it to the byte",
    ),
    Beyond(
        "negative",
        "MANIFEST-ROSTER-003 MANIFEST-POLICY-001",
        "it says what is meant where a field is left out, and leaving out is never an error",
    ),
    Beyond(
        "any",
        "LEDGER-WRITE-001 LEDGER-WRITE-002 LEDGER-WRITE-003 LEDGER-WRITE-004",
        "locks, syncs and their order, and what follows a failed one, leave no trace in a file that was closed",
    ),
    Beyond(
        "any",
        "LEDGER-WRITE-005",
        "it says what a writer refuses to be given; the protocol hands a program no values to write",
    ),
    Beyond(
        "any",
        "LEDGER-VERIFY-004",
        "the suite does not measure how much memory a program takes, though who starts a process could see its peak",
    ),
    Beyond(
        "negative",
        "LEDGER-VERIFY-005",
        "no answer of the protocol is a report, and its refusals are errors of usage, which the protocol does not ask",
    ),
    Beyond(
        "any",
        "RUN-PAUSE-001",
        "an interruption comes from outside while a run goes on; in virtual time there is no such moment",
    ),
    Beyond(
        "any",
        "RUN-GATE-005",
        "a decision comes from outside while a run is at work; in virtual time there is no such moment",
    ),
    Beyond(
        "any",
        "RUN-ENGINE-001",
        "a run in virtual time carries out no calls, so it needs no engine",
    ),
    Beyond(
        "any",
        "RUN-EXIT-001",
        "the exit status of a command is not that of a program under test, which answers with a verdict",
    ),
)


def lacking(lack: Lack) -> dict[str, str]:
    """The reason for each requirement that lacks this."""
    return {id_: entry.reason for entry in BEYOND if entry.lacks == lack for id_ in entry.requirements.split()}
