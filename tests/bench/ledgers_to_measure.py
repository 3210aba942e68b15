"""Ledgers to measure: any number of entries, each with a body of 300 bytes, for a plan with 500 tasks."""

from pathlib import Path

from forum_runner.api import Inputs
from forum_runner.app.workflows import compile_file
from forum_runner.ledger import Body, Durability, LedgerWriter, create_ledger

ATTEMPTS = 100
TASKS = 500
RESERVED = {"input_tokens": 1200, "output_tokens": 2048, "micro_usd": 0, "output_bytes": 1_000_000}
USAGE = {
    "input_tokens": 1100,
    "cached_input_tokens": 0,
    "output_tokens": 412,
    "micro_usd": 0,
    "output_bytes": 300,
    "wall_ms": 2203,
}


def wave_plan(folder: Path) -> bytes:
    tasks = "".join(f"    t{number:04}: {{agent: writer, instruction: Write.}}\n" for number in range(TASKS))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workflow.yaml").write_text(
        "apiVersion: forum/v1\nkind: Workflow\nmetadata: {name: bench}\n"
        f"policy: {{max_parallel: 1000, retry: {{attempts: {ATTEMPTS}}}}}\nplan:\n  tasks:\n{tasks}",
        encoding="utf-8",
    )
    compiled = compile_file(str(folder / "workflow.yaml"), None, Inputs())
    assert compiled.data is not None, [finding.message for finding in compiled.report.findings]
    return compiled.data


def write_ledger(folder: Path, entries: int) -> Path:
    """Write a ledger of failed attempts, up to 100 for each of 500 tasks, then `x-` entries."""
    run_dir = folder / f"run-{entries}"
    with create_ledger(run_dir, wave_plan=wave_plan(folder / "bundle"), durability=Durability.NONE) as ledger:
        ledger.append("wave.opened", {"wave": 0})
        attempts = min(entries // 2, TASKS * ATTEMPTS)
        for number in range(attempts):
            _attempt(ledger, f"t{number // ATTEMPTS:04}", number % ATTEMPTS + 1)
        for number in range(entries - 2 * attempts):
            ledger.append("x-note", {"number": number}, bodies={"text": _body("note", number)})
        _finish(ledger, attempts)
    return run_dir


def _attempt(ledger: LedgerWriter, task: str, attempt: int) -> None:
    size = ledger.size
    started = {"task": task, "attempt": attempt, "agent": "writer", "tier": "capable", "adapter": "local"}
    ledger.stage(
        "task.started",
        {**started, "fingerprint": "0" * 64, "reserved": RESERVED},
        bodies={"prompt": _body(task, size)},
        causes=[size - 1] if attempt > 1 else [1],
    )
    ledger.append(
        "task.finished",
        {"task": task, "attempt": attempt, "status": "error", "error": "network", "usage": USAGE, "measured": True},
        bodies={"detail": _body(task, size + 1)},
        causes=[size],
    )


def _finish(ledger: LedgerWriter, attempts: int) -> None:
    last_attempts = {f"t{number // ATTEMPTS:04}": 2 * number + 3 for number in range(attempts)}
    for number in range(TASKS):
        task = f"t{number:04}"
        causes = [last_attempts[task]] if task in last_attempts else [1]
        ledger.append("task.ended", {"task": task, "state": "failed", "reason": "error"}, causes=causes)
    counts = dict.fromkeys(("passed", "tolerated", "skipped", "stopped", "refused", "cancelled"), 0)
    totals = {name: amount * attempts for name, amount in USAGE.items()}
    ledger.seal("failed", {**counts, "failed": TASKS}, {**totals, "calls": attempts})


def _body(name: str, number: int) -> Body:
    return Body(f"{name} {number} ".encode().ljust(300, b"."), "text/plain")
