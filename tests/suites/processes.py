"""Wait for processes to start and to end."""

import time
from pathlib import Path


def wait_until_ended(pid: int, timeout_s: float = 60) -> None:
    """Wait until a process has ended. A zombie counts as ended."""
    deadline = time.monotonic() + timeout_s
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still running"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_number(path: Path, timeout_s: float = 60) -> int:
    """Wait until a file contains a number, usually a process id, and return it."""
    deadline = time.monotonic() + timeout_s
    while not path.exists() or not path.read_text().strip():
        assert time.monotonic() < deadline, f"'{path}' was not written"
        time.sleep(0.01)
    return int(path.read_text())
