"""A system call that fails, or at which the process is killed, loses no acknowledged entry and never prevents resuming.

Two short runs are repeated once per system call on the ledger, each time with a fault at that call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from faults import aftermath
from faults.aftermath import bytes_in, check_unfinished, entries_in
from faults.injection import CALLS, SPELLINGS, Ending, require_strace, run_with_fault, synced_paths, system_calls
from faults.process import REFUSED
from faults.short_run import SCENARIOS, SECRET, scenario
from forum_runner.errors import UsageError
from forum_runner.ledger import create_ledger
from ledgers.plans import plan_of

pytestmark = pytest.mark.requirement("LEDGER-WRITE-002", "LEDGER-WRITE-004", "LEDGER-TORN-001", "LEDGER-TORN-002")

ERRORS = {
    "openat": ("EMFILE",),
    "mkdir": ("ENOSPC",),
    "flock": ("ENOLCK",),
    "pwrite64": ("ENOSPC", "ENOSPC+", "EIO"),
    "write": ("ENOSPC", "EIO"),
    "fsync": ("EIO", "EIO+"),
    "fdatasync": ("EIO", "EIO+"),
    "ftruncate": ("EIO",),
    "chmod": ("EPERM",),
    "rename": ("ENOSPC", "EIO"),
    "unlink": ("EIO",),
}
INJECTED = [(call, error) for call, errors in ERRORS.items() for error in errors]

CallsByScenario = dict[str, list[tuple[str, int]]]


@pytest.fixture(scope="module")
def wave_plan() -> bytes:
    return plan_of("two_waves")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory, wave_plan: bytes) -> CallsByScenario:
    """The calls that each scenario makes without a fault. An earlier run of each loads its modules."""
    require_strace()
    calls = {}
    for name in SCENARIOS:
        scenario(name, tmp_path_factory.mktemp("loaded") / "run", wave_plan)(lambda _seq, _number: None)
        parent = tmp_path_factory.mktemp("counted")
        calls[name] = list(system_calls(scenario(name, parent / "run", wave_plan), parent, parent / "log"))
    return calls


def run_with_faults(
    name: str, cases: Sequence[tuple[str, int]], fault: str, tmp_path: Path, wave_plan: bytes
) -> dict[str, tuple[Path, Ending]]:
    """Run the scenario once per case, with the fault at that call. Return the run directory and the ending by case."""
    endings = {}
    for call, number in cases:
        directory = tmp_path / f"{call}-{number}" / "run"
        directory.parent.mkdir()
        ending = run_with_fault(scenario(name, directory, wave_plan), call, number, fault)
        endings[f"{call} {number}"] = (directory, ending)
    return endings


def check_aftermath(directory: Path, ending: Ending, wave_plan: bytes) -> None:
    if not (directory / "ledger.jsonl").exists() or not entries_in(directory):
        assert ending.acknowledged == []
        check_can_be_created_again(directory, wave_plan)
        return
    check_unfinished(directory, allowed_codes=frozenset({"L306"}))
    redacted = [entry for entry in entries_in(directory) if entry["kind"] == "body.redacted"]
    aftermath.resume_and_seal(directory, ending.acknowledged)
    if redacted:
        assert SECRET not in b"".join(bytes_in(directory).values())


def check_can_be_created_again(directory: Path, wave_plan: bytes) -> None:
    """Create a ledger over the remains, which have no entries, or check that the error asks for an empty directory."""
    if (directory / "ledger.jsonl").exists():
        check_unfinished(directory)
    try:
        create_ledger(directory, wave_plan=wave_plan).close()
    except UsageError as error:
        assert "already exists; choose an empty directory for the ledger" in str(error)
    else:
        aftermath.resume_and_seal(directory)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_without_faults_makes_every_listed_call(name: str, calls: CallsByScenario) -> None:
    called = {SPELLINGS[call] for call, _ in calls[name]}

    assert called == set(CALLS)


@pytest.mark.requirement("LEDGER-WRITE-003")
def test_every_created_file_and_directory_is_synced(tmp_path: Path) -> None:
    require_strace()
    directory = tmp_path / "made" / "with" / "run"

    synced = synced_paths(lambda _: create_ledger(directory).close(), tmp_path / "log")

    created = [directory / "ledger.jsonl", directory / "bodies.tar", directory, *list(directory.parents)[:3]]
    assert synced == {str(path) for path in created}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize(("call", "error"), INJECTED)
def test_a_failed_call_is_reported_and_damages_nothing(
    name: str, call: str, error: str, calls: CallsByScenario, tmp_path: Path, wave_plan: bytes
) -> None:
    cases = [(call_name, number) for call_name, number in calls[name] if SPELLINGS[call_name] == call]

    endings = run_with_faults(name, cases, f"error={error}", tmp_path, wave_plan)

    for directory, ending in endings.values():
        check_aftermath(directory, ending, wave_plan)
    assert {case: ending.code for case, (_, ending) in endings.items() if ending.code not in (0, REFUSED)} == {}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("call", CALLS)
def test_a_kill_at_any_call_damages_nothing(
    name: str, call: str, calls: CallsByScenario, tmp_path: Path, wave_plan: bytes
) -> None:
    cases = [(call_name, number) for call_name, number in calls[name] if SPELLINGS[call_name] == call]

    endings = run_with_faults(name, cases, "signal=KILL", tmp_path, wave_plan)

    assert {case: ending.code for case, (_, ending) in endings.items() if ending.code != -9} == {}
    for directory, ending in endings.values():
        check_aftermath(directory, ending, wave_plan)
