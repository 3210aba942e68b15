"""A process that is killed at any moment loses nothing that was acknowledged, and the next one goes on.

FORUM_FAULT_ROUNDS multiplies the number of kills.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from faults.aftermath import bytes_in, check_kept, check_unfinished, check_valid, entries_in, go_on, seal
from faults.busy_writers import (
    APPENDERS,
    answer_for_ever,
    create_for_ever,
    redact_all,
    repair_for_ever,
    seal_for_ever,
)
from faults.process import Acknowledge, Process
from forum_runner.errors import UsageError
from forum_runner.ledger import Body, Durability, create_ledger, open_ledger
from forum_runner.ledger.source import ledger_at
from ledgers.plans import plan_of

ROUNDS = int(os.environ.get("FORUM_FAULT_ROUNDS", "1"))
KILLS = 8 * ROUNDS
SECRETS = 25

moments = random.Random()  # noqa: S311 - no secret


def begun(directory: Path) -> Path:
    create_ledger(directory, durability=Durability.NONE).close()
    return directory


def kill_again_and_again(
    directory: Path, work: Callable[[int, Acknowledge], None], besides: frozenset[str] = frozenset()
) -> list[tuple[int, int]]:
    """Kill, look, start again: the next process opens what the killed one left, and is killed in turn."""
    acknowledged: list[tuple[int, int]] = []
    for kill in range(KILLS):
        process = Process(partial(work, 10_000 * kill))
        if kill % 4:
            process.wait_until_at_work()
        acknowledged += process.kill(after_s=moments.uniform(0, 0.008))
        check_unfinished(directory, besides=besides)
    return acknowledged


@pytest.mark.requirement("LEDGER-WRITE-002", "LEDGER-WRITE-003", "LEDGER-TORN-001", "LEDGER-TORN-002")
@pytest.mark.parametrize("durability", Durability)
@pytest.mark.parametrize("writers", APPENDERS)
def test_killed_writers_lose_nothing_that_was_acknowledged(
    tmp_path: Path, writers: str, durability: Durability
) -> None:
    directory = begun(tmp_path / "run")

    def work(first: int, acknowledge: Acknowledge) -> None:
        APPENDERS[writers](directory, durability, first, acknowledge)

    acknowledged = kill_again_and_again(directory, work)

    assert len(acknowledged) >= KILLS // 2
    go_on(directory, acknowledged)


@pytest.mark.requirement("LEDGER-DIR-002", "LEDGER-TORN-002")
def test_a_copy_that_a_killed_process_did_not_come_to_write_is_there_when_the_next_one_seals(tmp_path: Path) -> None:
    directory = begun(tmp_path / "run")

    acknowledged = kill_again_and_again(directory, partial(answer_for_ever, directory))

    go_on(directory, acknowledged)
    given = {
        f"outputs/{entry['data']['output']}.txt" for entry in entries_in(directory) if entry["kind"] == "answer.given"
    }
    assert {name for name in bytes_in(directory) if name.startswith("outputs/")} == given


@pytest.mark.requirement("LEDGER-SEAL-002", "LEDGER-TORN-002")
def test_a_seal_during_which_the_process_was_killed_is_made_again(tmp_path: Path) -> None:
    directory = begun(tmp_path / "run")

    acknowledged = kill_again_and_again(directory, partial(seal_for_ever, directory))

    with open_ledger(directory) as ledger:
        assert ledger.is_sealed
    check_valid(directory)
    check_kept(directory, acknowledged)


@pytest.mark.requirement("LEDGER-TORN-002")
def test_a_repair_that_is_killed_is_made_again(tmp_path: Path) -> None:
    directory = begun(tmp_path / "run")

    kill_again_and_again(directory, lambda _, acknowledge: repair_for_ever(directory, acknowledge))

    go_on(directory)
    named = {
        f"torn/{torn['file']}.{torn['digest']}"
        for entry in entries_in(directory)
        if entry["kind"] == "run.repaired"
        for torn in entry["data"]["torn"]
    }
    assert named == {name for name in bytes_in(directory) if name.startswith("torn/") and "/." not in name}


@pytest.mark.requirement("LEDGER-REDACT-001", "LEDGER-TORN-002")
def test_a_redaction_during_which_the_process_was_killed_is_carried_out_when_the_ledger_is_opened(
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
    left = [(seq, "value") for seq in seqs]

    while left:
        process = Process(partial(redact_all, directory, left))
        process.wait_until_at_work()
        acknowledged = process.kill(after_s=moments.uniform(0, 0.01)) if len(left) > 4 else process.finish()
        check_unfinished(directory, besides=frozenset({"L306"}))
        open_ledger(directory).close()

        check_valid(directory)
        gone = {entry["causes"][0] for entry in entries_in(directory) if entry["kind"] == "body.redacted"}
        assert gone >= {seq for _, seq in acknowledged}
        everything = b"".join(bytes_in(directory).values())
        assert [seq for seq in gone if f"secret {seqs[seq]};".encode() in everything] == []
        left = [(seq, "value") for seq in seqs if seq not in gone]


@pytest.mark.requirement("LEDGER-WRITE-002", "LEDGER-TORN-002")
def test_a_creation_that_was_killed_leaves_a_ledger_or_none(tmp_path: Path) -> None:
    wave_plan = plan_of("two_waves")
    for kill in range(3 * KILLS):
        parent = tmp_path / str(kill)
        parent.mkdir()
        process = Process(partial(create_for_ever, parent, wave_plan))
        acknowledged = process.kill(after_s=moments.uniform(0, 0.02))

        whole = {int(path.parent.name) for path in parent.glob("*/ledger.jsonl") if path.stat().st_size}
        assert whole >= {number for _, number in acknowledged}
        for directory in parent.iterdir():
            finish_creation(directory, wave_plan, is_begun=int(directory.name) in whole)


def finish_creation(directory: Path, wave_plan: bytes, *, is_begun: bool) -> None:
    if is_begun:
        check_unfinished(directory)
        go_on(directory)
        assert (directory / "wave-plan.json").read_bytes() == wave_plan
        return
    with pytest.raises(UsageError, match=r"no entry|no ledger.jsonl"):
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
        go_on(directory)
