"""Exit codes and usage errors."""

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    NOT_PASSED = 1
    USAGE = 2
    NOT_VERIFIED = 3
    INCOMPLETE = 7
    DEFECT = 70
    INTERRUPTED = 130


class UsageError(Exception):
    """The arguments are invalid."""
