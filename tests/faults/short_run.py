"""Two short runs for fault injection: one creates a ledger, the other resumes a torn ledger."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from faults.numbered import append_numbered
from faults.process import Acknowledge, Work
from forum_runner.ledger import Body, Durability, LedgerWriter, create_ledger, open_ledger

SECRET = b"a secret of some length"
LARGE = b"large" * (1 << 18)
SCENARIOS = ("create", "resume")


def create(directory: Path, wave_plan: bytes, acknowledge: Acknowledge) -> None:
    """Create a ledger, append, seal, and redact after the seal."""
    with create_ledger(directory, wave_plan=wave_plan) as ledger:
        append_and_acknowledge(ledger, 1, acknowledge)
        append_and_acknowledge(ledger, 5, acknowledge)
        secret = ledger.answer("secret", Body(SECRET, "text/plain", is_sensitive=True))
        ledger.answer("notes", Body.text("notes"))
        ledger.append("x-large", bodies={"large": Body(LARGE), "secret": Body(LARGE[1:], is_sensitive=True)})
        append_and_acknowledge(ledger, 2, acknowledge)
        ledger.seal("passed")
        ledger.redact(secret, "value", "")


def resume(directory: Path, acknowledge: Acknowledge) -> None:
    """Resume the ledger, append and seal."""
    with open_ledger(directory) as ledger:
        append_and_acknowledge(ledger, 11, acknowledge)
        append_and_acknowledge(ledger, 12, acknowledge)
        ledger.seal("passed")


def create_torn_ledger(directory: Path, wave_plan: bytes) -> None:
    """Create a ledger with torn files, a missing copy, and a redaction that is recorded but not carried out."""
    with create_ledger(directory, wave_plan=wave_plan, durability=Durability.NONE) as ledger:
        append_numbered(ledger.append, 1)
        secret = ledger.answer("secret", Body(SECRET, "text/plain", is_sensitive=True))
        ledger.answer("notes", Body.text("notes"))
        ledger.seal("passed")
        bodies = (directory / "bodies.tar").read_bytes()
        checkpoint = (directory / "checkpoint").read_bytes()
        ledger.redact(secret, "value", "requested")
    lines = (directory / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (directory / "ledger.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:100])
    end = len(bodies) - 1024
    (directory / "bodies.tar").write_bytes(bodies[:end] + (directory / "bodies.tar").read_bytes()[end:] + b"torn")
    (directory / "checkpoint").write_bytes(checkpoint)
    (directory / "outputs" / "notes.txt").unlink()


def scenario(name: str, directory: Path, wave_plan: bytes) -> Work:
    """Prepare the directory and return the work to do."""
    if name == "create":
        return partial(create, directory, wave_plan)
    create_torn_ledger(directory, wave_plan)
    return partial(resume, directory)


def append_and_acknowledge(ledger: LedgerWriter, number: int, acknowledge: Acknowledge) -> None:
    acknowledge(append_numbered(ledger.append, number), number)
