"""A process killed at any moment loses no acknowledged entry, and the next process can resume the ledger.

FORUM_FAULT_ROUNDS multiplies the number of kills.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from faults.aftermath import (
    bytes_in,
    check_acknowledged,
    check_unfinished,
    check_valid,
    entries_in,
    resume_and_seal,
    seal,
)
from faults.busy_writers import (
    APPENDERS,
    answer_forever,
    create_forever,
    redact_all,
    repair_forever,
    seal_forever,
)
from faults.process import Acknowledge, Process
from forum_runner.errors import UsageError
from forum_runner.ledger import Body, Durability, create_ledger, open_ledger
from forum_runner.ledger.source import ledger_at
from ledgers.plans import plan_of

ROUNDS = int(os.environ.get("FORUM_FAULT_ROUNDS", "1"))
KILLS = 8 * ROUNDS
SECRETS = 25

rng = random.Random()  # noqa: S311 - no secret


def create_empty_ledger(directory: Path) -> Path:
    create_ledger(directory, durability=Durability.NONE).close()
    return directory


def kill_repeatedly(
    directory: Path, work: Callable[[int, Acknowledge], None], allowed_codes: frozenset[str] = frozenset()
) -> list[tuple[int, int]]:
    """Start a process on the ledger, kill it and check the ledger, several times in a row."""
    acknowledged: list[tuple[int, int]] = []
    for kill in range(KILLS):
        process = Process(partial(work, 10_000 * kill))
        if kill % 4:
            process.wait_until_working()
        acknowledged += process.kill(after_s=rng.uniform(0, 0.008))
        check_unfinished(directory, allowed_codes=allowed_codes)
    return acknowledged


@pytest.mark.requirement("LEDGER-WRITE-002", "LEDGER-WRITE-003", "LEDGER-TORN-001", "LEDGER-TORN-002")
@pytest.mark.parametrize("durability", Durability)
@pytest.mark.parametrize("writers", APPENDERS)
def test_killed_writers_lose_no_acknowledged_entry(tmp_path: Path, writers: str, durability: Durability) -> None:
    directory = create_empty_ledger(tmp_path / "run")

    def work(first: int, acknowledge: Acknowledge) -> None:
        APPENDERS[writers](directory, durability, first, acknowledge)

    acknowledged = kill_repeatedly(directory, work)

    assert len(acknowledged) >= KILLS // 2
    resume_and_seal(directory, acknowledged)


@pytest.mark.requirement("LEDGER-DIR-002", "LEDGER-TORN-002")
def test_a_copy_missing_after_a_kill_is_written_when_the_next_process_seals(tmp_path: Path) -> None:
    directory = create_empty_ledger(tmp_path / "run")

    acknowledged = kill_repeatedly(directory, partial(answer_forever, directory))

    resume_and_seal(directory, acknowledged)
    copies = {
        f"outputs/{entry['data']['output']}.txt" for entry in entries_in(directory) if entry["kind"] == "answer.given"
    }
    assert {name for name in bytes_in(directory) if name.startswith("outputs/")} == copies


@pytest.mark.requirement("LEDGER-SEAL-002", "LEDGER-TORN-002")
def test_a_seal_interrupted_by_a_kill_is_repeated_when_the_ledger_is_reopened(tmp_path: Path) -> None:
    directory = create_empty_ledger(tmp_path / "run")

    acknowledged = kill_repeatedly(directory, partial(seal_forever, directory))

    with open_ledger(directory) as ledger:
        assert ledger.is_sealed
    check_valid(directory)
    check_acknowledged(directory, acknowledged)


@pytest.mark.requirement("LEDGER-TORN-002")
def test_a_repair_interrupted_by_a_kill_is_repeated_when_the_ledger_is_reopened(tmp_path: Path) -> None:
    directory = create_empty_ledger(tmp_path / "run")

    kill_repeatedly(directory, lambda _, acknowledge: repair_forever(directory, acknowledge))

    resume_and_seal(directory)
    recorded = {
        f"torn/{torn['file']}.{torn['digest']}"
        for entry in entries_in(directory)
        if entry["kind"] == "run.repaired"
        for torn in entry["data"]["torn"]
    }
    assert recorded == {name for name in bytes_in(directory) if name.startswith("torn/") and "/." not in name}


@pytest.mark.requirement("LEDGER-REDACT-001", "LEDGER-TORN-002")
def test_a_redaction_interrupted_by_a_kill_is_completed_when_the_ledger_is_reopened(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "run"
    with create_ledger(directory, durability=Durability.NONE) as ledger:
        secrets = {number: f"secret {number};".encode() * (number * 400) for number in range(1, SECRETS)}
        seqs = {
            ledger.answer(f"answer_{number}", Body(secret, is_sensitive=number % 2 == 0)): number
            for number, secret in secrets.items()
        }
        seal(ledger)
    remaining = [(seq, "value") for seq in seqs]

    while remaining:
        process = Process(partial(redact_all, directory, remaining))
        process.wait_until_working()
        acknowledged = process.kill(after_s=rng.uniform(0, 0.01)) if len(remaining) > 4 else process.finish()
        check_unfinished(directory, allowed_codes=frozenset({"L306"}))
        open_ledger(directory).close()

        check_valid(directory)
        redacted = {entry["causes"][0] for entry in entries_in(directory) if entry["kind"] == "body.redacted"}
        assert redacted >= {seq for _, seq in acknowledged}
        all_bytes = b"".join(bytes_in(directory).values())
        assert [seq for seq in redacted if f"secret {seqs[seq]};".encode() in all_bytes] == []
        remaining = [(seq, "value") for seq in seqs if seq not in redacted]


@pytest.mark.requirement("LEDGER-WRITE-002", "LEDGER-TORN-002")
def test_a_creation_interrupted_by_a_kill_leaves_a_complete_ledger_or_none(tmp_path: Path) -> None:
    wave_plan = plan_of("two_waves")
    for kill in range(3 * KILLS):
        parent = tmp_path / str(kill)
        parent.mkdir()
        process = Process(partial(create_forever, parent, wave_plan))
        acknowledged = process.kill(after_s=rng.uniform(0, 0.02))

        complete = {int(path.parent.name) for path in parent.glob("*/ledger.jsonl") if path.stat().st_size}
        assert complete >= {number for _, number in acknowledged}
        for directory in parent.iterdir():
            check_after_creation(directory, wave_plan, is_created=int(directory.name) in complete)


def check_after_creation(directory: Path, wave_plan: bytes, *, is_created: bool) -> None:
    if is_created:
        check_unfinished(directory)
        resume_and_seal(directory)
        assert (directory / "wave-plan.json").read_bytes() == wave_plan
        return
    with pytest.raises(UsageError, match=r"no entries|no ledger.jsonl"):
        open_ledger(directory)
    if (directory / "ledger.jsonl").exists():
        check_unfinished(directory)
    else:
        with pytest.raises(UsageError, match=r"no ledger.jsonl"):
            ledger_at(directory)
    try:
        create_ledger(directory, wave_plan=wave_plan).close()
    except UsageError as error:
        assert "bodies.tar' already exists" in str(error)
    else:
        resume_and_seal(directory)
