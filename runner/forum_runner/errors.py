"""The errors that the API raises, each with the exit code of a command that fails with it.

ForumError
├── UsageError                the call or the command line is invalid, or does not fit the files
│   ├── LedgerBusyError       another process is writing the ledger (ledger/files.py)
│   ├── NotALedgerError       a file is not a ledger (ledger/recognition.py)
│   ├── UnwrittenPinError     a ledger was verified, but its pin cannot be written (ledger/verification/report.py)
│   └── SourceError           a record of another program cannot be imported (importing/source_error.py)
├── FileAccessError           a file cannot be read or written
├── InvalidWorkflowError      the workflow has errors (report/__init__.py)
├── UnfinishedRunError        a run stopped before it could record its end
├── NoCredentialError         an environment variable is not set (app/run_preparation.py)
├── UnusableCredentialError   an environment variable does not contain a key (app/run_preparation.py)
├── CanonicalError            RFC 8785 cannot represent a value
│   └── DepthError            a value is nested too deeply
├── MalformedKeyError, MalformedNoteError, MalformedCheckpointError, MalformedProofError  (ledger/)
├── EntryError                an entry cannot be stored (ledger/entry.py)
├── LedgerBrokenError         writing the ledger failed (ledger/writer.py)
├── DamagedLedgerError        a ledger is invalid where a valid one is needed (ledger/verification/report.py)
└── EmptyLedgerError          a ledger has no entry (app/proofs.py)

Problems in a manifest are findings, not errors: see finding.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path


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
    """An error that the user can fix. A command that raises it exits with `exit_code`."""

    exit_code = ExitCode.INVALID


class UsageError(ForumError):
    """The arguments are invalid, or do not fit the files that they refer to."""


class CanonicalError(ForumError):
    """The value has no RFC 8785 form: not JSON, out of range, or not Unicode."""


class DepthError(CanonicalError):
    """The value is nested too deeply."""


class FileAccessError(ForumError):
    """A file cannot be read or written: it is missing, the disk is full, or permissions do not allow it."""

    def __init__(self, error: OSError) -> None:
        where = f" '{error.filename}'" if error.filename else ""
        super().__init__(f"cannot read or write{where}: {error.strerror or error}")


@contextmanager
def file_errors() -> Iterator[None]:
    """Raises an OSError as a FileAccessError."""
    try:
        yield
    except OSError as error:
        raise FileAccessError(error) from error


class UnfinishedRunError(ForumError):
    """A run stopped before it could record its end. It can be resumed."""

    def __init__(
        self, directory: Path, reason: str = "interrupted", exit_code: ExitCode = ExitCode.INTERRUPTED
    ) -> None:
        self.directory = directory
        self.exit_code = exit_code
        super().__init__(f"{reason}; the run is in '{directory}'; resume it with: forum resume {directory}")
