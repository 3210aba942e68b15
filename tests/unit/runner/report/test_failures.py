"""The reason for a failure is the program's last message, or the reason why the program was terminated."""

from pathlib import Path

import pytest

from fake_ledger.files import Body
from forum_runner.history.read_history import read_history
from forum_runner.ledger.source import ledger_at
from forum_runner.report.failures import TaskFailure, failure_lines
from forum_runner.report.run_result import read_result
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of


@pytest.mark.parametrize(
    ("error", "status", "stderr", "reason"),
    [
        ("exit_status", 3, b"Traceback\nKeyError: x\n", "KeyError: x"),
        ("exit_status", 3, b"\n", "the failure's own message"),
        ("exit_status", -9, b"DeprecationWarning: y", "the failure's own message; stderr: DeprecationWarning: y"),
        ("timeout", -15, b"first\nDeprecationWarning: y\n", "the failure's own message; stderr: DeprecationWarning: y"),
        ("output_limit", -15, b"DeprecationWarning: y", "the failure's own message; stderr: DeprecationWarning: y"),
        ("timeout", -15, None, "the failure's own message"),
    ],
)
def test_the_last_line_of_stderr_is_the_reason_only_if_the_program_exited_itself(
    tmp_path: Path, error: str, status: int, stderr: bytes | None, reason: str
) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    example.start("one")
    data = {"task": "one", "attempt": 1, "status": "error", "error": error, "exit_status": status}
    bodies = {"detail": Body(b'{"message":"the failure\'s own message"}', "application/json")}
    bodies |= {"stderr": Body(stderr)} if stderr is not None else {}
    example.add("task.finished", {**data, "usage": {}, "measured": False}, bodies=bodies)
    example.end("one", "failed", "error")

    result = read_result(example.write(tmp_path / "out"), read_history(ledger_at(tmp_path / "out")), 1)

    assert str(result.failures["one"]) == f"{error} (exit {status}): {reason}"


def test_a_task_id_from_a_damaged_ledger_cannot_print_terminal_codes() -> None:
    assert failure_lines({"a\x1b[2J": TaskFailure("timeout")}) == ["a\N{REPLACEMENT CHARACTER}[2J: timeout"]
