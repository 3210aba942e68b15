"""Short runs for failing every system call: a fresh one, and one that follows a killed writer."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from faults.numbered import append_numbered
from faults.process import Acknowledge, Work
from forum_runner.ledger import Body, Durability, LedgerWriter, create_ledger, open_ledger

SECRET = b"a secret of some length"
LARGE = b"large" * (1 << 18)
STORIES = ("begin", "go on")


def begin(directory: Path, wave_plan: bytes, acknowledge: Acknowledge) -> None:
    """From the first entry to a redaction after the seal."""
    with create_ledger(directory, wave_plan=wave_plan) as ledger:
        tell(ledger, 1, acknowledge)
        tell(ledger, 5, acknowledge)
        secret = ledger.answer("secret", Body(SECRET, "text/plain", is_sensitive=True))
        ledger.answer("notes", Body.text("notes"))
        ledger.append("x-large", bodies={"large": Body(LARGE), "secret": Body(LARGE[1:], is_sensitive=True)})
        tell(ledger, 2, acknowledge)
        ledger.seal("passed")
        ledger.redact(secret, "value", "")


def go_on(directory: Path, acknowledge: Acknowledge) -> None:
    """Continue a torn ledger."""
    with open_ledger(directory) as ledger:
        tell(ledger, 11, acknowledge)
        tell(ledger, 12, acknowledge)
        ledger.seal("passed")


def tear(directory: Path, wave_plan: bytes) -> None:
    """Tear both files, remove a copy, and record a redaction without carrying it out."""
    with create_ledger(directory, wave_plan=wave_plan, durability=Durability.NONE) as ledger:
        append_numbered(ledger.append, 1)
        secret = ledger.answer("secret", Body(SECRET, "text/plain", is_sensitive=True))
        ledger.answer("notes", Body.text("notes"))
        ledger.seal("passed")
        before = (directory / "bodies.tar").read_bytes()
        checkpoint = (directory / "checkpoint").read_bytes()
        ledger.redact(secret, "value", "asked for")
    lines = (directory / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (directory / "ledger.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:100])
    end = len(before) - 1024
    (directory / "bodies.tar").write_bytes(before[:end] + (directory / "bodies.tar").read_bytes()[end:] + b"torn")
    (directory / "checkpoint").write_bytes(checkpoint)
    (directory / "outputs" / "notes.txt").unlink()


def story(name: str, directory: Path, wave_plan: bytes) -> Work:
    """Prepare the initial state and return the work to do."""
    if name == "begin":
        return partial(begin, directory, wave_plan)
    tear(directory, wave_plan)
    return partial(go_on, directory)


def tell(ledger: LedgerWriter, number: int, acknowledge: Acknowledge) -> None:
    acknowledge(append_numbered(ledger.append, number), number)
