"""The errors that end a command, and the exit code of each.

ForumError
├── UsageError          wrong usage, or a file of the user's that stands in the way
├── CanonicalError      a value that RFC 8785 cannot write
│   └── DepthError      one that is nested too deep
├── MisplacedTaskError  a wave plan whose tasks and waves do not match (graph/model.py)
├── MalformedKeyError, MalformedNoteError, MalformedCheckpointError, MalformedProofError  (ledger/)
├── SourceError         a record of somebody else's that cannot be imported (importing/fault.py)
├── EntryError          an entry that cannot be stored (ledger/entry.py)
├── UnfinishedRunError  a run that stopped before it could say so (app/running.py)
├── NoCredentialError   a variable that the roster names is not set (app/preparing.py)
├── UnusableCredentialError  a variable that the roster names holds what is no key (app/preparing.py)
├── LedgerBrokenError   a ledger whose writing failed (ledger/writer.py)
├── DamagedLedgerError  a ledger that does not hold, where it must (ledger/verification/report.py)
└── EmptyLedgerError    a ledger without an entry (app/proofs.py)

What is wrong with a manifest is not an error but a finding: see finding.py.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    INVALID = 2
    NOT_VERIFIED = 3
    BUDGET = 4
    PAUSED = 5
    REFUSED = 6
    INCOMPLETE = 7
    NO_CREDENTIAL = 8
    DEFECT = 70
    INTERRUPTED = 130


class ForumError(Exception):
    """Something that the user can mend; `exit_code` is what the command ends with."""

    exit_code = ExitCode.INVALID


class UsageError(ForumError):
    """The command cannot do what it was asked."""


class CanonicalError(ForumError):
    """A value that has no RFC 8785 form: not JSON, out of range, or not Unicode."""


class DepthError(CanonicalError):
    """A value that is nested deeper than anything that is written."""
