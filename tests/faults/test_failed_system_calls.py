"""No failed system call, and no kill at a system call, loses an acknowledged entry or prevents resuming.

Two short runs are repeated once per system call on the ledger, and each time that call fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from faults import aftermath
from faults.aftermath import bytes_in, check_unfinished, entries_in
from faults.injection import CALLS, SPELLINGS, Ending, calls_of, require_strace, run_with_fault, synced_by
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
    """The calls that each scenario makes without a fault. It runs once before, so that its modules are loaded."""
    require_strace()
    found = {}
    for name in SCENARIOS:
        scenario(name, tmp_path_factory.mktemp("loaded") / "run", wave_plan)(lambda _seq, _number: None)
        parent = tmp_path_factory.mktemp("counted")
        found[name] = list(calls_of(scenario(name, parent / "run", wave_plan), parent, parent / "log"))
    return found


def endings(
    name: str, cases: Sequence[tuple[str, int]], fault: str, tmp_path: Path, wave_plan: bytes
) -> dict[str, tuple[Path, Ending]]:
    found = {}
    for call, number in cases:
        directory = tmp_path / f"{call}-{number}" / "run"
        directory.parent.mkdir()
        ending = run_with_fault(scenario(name, directory, wave_plan), call, number, fault)
        found[f"{call} {number}"] = (directory, ending)
    return found


def check_aftermath(directory: Path, ending: Ending, wave_plan: bytes) -> None:
    if not (directory / "ledger.jsonl").exists() or not entries_in(directory):
        assert ending.acknowledged == []
        check_can_be_created_again(directory, wave_plan)
        return
    check_unfinished(directory, besides=frozenset({"L306"}))
    redacted = [entry for entry in entries_in(directory) if entry["kind"] == "body.redacted"]
    aftermath.resume_and_seal(directory, ending.acknowledged)
    if redacted:
        assert SECRET not in b"".join(bytes_in(directory).values())


def check_can_be_created_again(directory: Path, wave_plan: bytes) -> None:
    """Create a ledger over the entry-less rest, or check that the error names the file in the way."""
    if (directory / "ledger.jsonl").exists():
        check_unfinished(directory)
    try:
        create_ledger(directory, wave_plan=wave_plan).close()
    except UsageError as error:
        assert "already exists; choose an empty directory for the ledger" in str(error)
    else:
        aftermath.resume_and_seal(directory)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_without_faults_makes_every_call_in_the_list(name: str, calls: CallsByScenario) -> None:
    made = {SPELLINGS[call] for call, _ in calls[name]}

    assert made == set(CALLS) - ({"unlink"} if name == "resume" else set())


@pytest.mark.requirement("LEDGER-WRITE-003")
def test_every_created_file_and_directory_is_synced(tmp_path: Path) -> None:
    require_strace()
    directory = tmp_path / "made" / "with" / "run"

    synced = synced_by(lambda _: create_ledger(directory).close(), tmp_path / "log")

    created = [directory / "ledger.jsonl", directory / "bodies.tar", directory, *list(directory.parents)[:3]]
    assert synced == {str(path) for path in created}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize(("call", "error"), INJECTED)
def test_a_failed_call_is_reported_and_damages_nothing(
    name: str, call: str, error: str, calls: CallsByScenario, tmp_path: Path, wave_plan: bytes
) -> None:
    cases = [(made, number) for made, number in calls[name] if SPELLINGS[made] == call]

    found = endings(name, cases, f"error={error}", tmp_path, wave_plan)

    for directory, ending in found.values():
        check_aftermath(directory, ending, wave_plan)
    assert {case: ending.code for case, (_, ending) in found.items() if ending.code not in (0, REFUSED)} == {}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("call", CALLS)
def test_a_kill_at_any_call_damages_nothing(
    name: str, call: str, calls: CallsByScenario, tmp_path: Path, wave_plan: bytes
) -> None:
    cases = [(made, number) for made, number in calls[name] if SPELLINGS[made] == call]

    found = endings(name, cases, "signal=KILL", tmp_path, wave_plan)

    assert {case: ending.code for case, (_, ending) in found.items() if ending.code != -9} == {}
    for directory, ending in found.values():
        check_aftermath(directory, ending, wave_plan)
