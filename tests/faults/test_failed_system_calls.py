"""Whichever system call fails, or is the last of a killed process: what was acknowledged is there, and work goes on.

Every call of two short runs that touches the ledger is made to fail, each in a run of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from faults import aftermath
from faults.aftermath import bytes_in, check_unfinished, entries_in
from faults.injection import CALLS, SPELLINGS, Ending, calls_of, require_strace, run_with_fault, synced_by
from faults.process import REFUSED
from faults.short_run import SECRET, STORIES, story
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

Counted = dict[str, list[tuple[str, int]]]


@pytest.fixture(scope="module")
def wave_plan() -> bytes:
    return plan_of("two_waves")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, wave_plan: bytes) -> Counted:
    """The calls that each story makes where nothing fails; modules that it loads on its way are loaded before."""
    require_strace()
    found = {}
    for name in STORIES:
        story(name, tmp_path_factory.mktemp("loaded") / "run", wave_plan)(lambda _seq, _number: None)
        parent = tmp_path_factory.mktemp("counted")
        found[name] = list(calls_of(story(name, parent / "run", wave_plan), parent, parent / "log"))
    return found


def endings(
    name: str, cases: Sequence[tuple[str, int]], fault: str, tmp_path: Path, wave_plan: bytes
) -> dict[str, tuple[Path, Ending]]:
    found = {}
    for call, number in cases:
        directory = tmp_path / f"{call}-{number}" / "run"
        directory.parent.mkdir()
        ending = run_with_fault(story(name, directory, wave_plan), call, number, fault)
        found[f"{call} {number}"] = (directory, ending)
    return found


def check_aftermath(directory: Path, ending: Ending, wave_plan: bytes) -> None:
    if not (directory / "ledger.jsonl").exists() or not entries_in(directory):
        assert ending.acknowledged == []
        check_begins_again(directory, wave_plan)
        return
    check_unfinished(directory, besides=frozenset({"L306"}))
    redacted = [entry for entry in entries_in(directory) if entry["kind"] == "body.redacted"]
    aftermath.go_on(directory, ending.acknowledged)
    if redacted:
        assert SECRET not in b"".join(bytes_in(directory).values())


def check_begins_again(directory: Path, wave_plan: bytes) -> None:
    """What is left has no entry: it is taken over, or the caller is told what stands in the way."""
    if (directory / "ledger.jsonl").exists():
        check_unfinished(directory)
    try:
        create_ledger(directory, wave_plan=wave_plan).close()
    except UsageError as error:
        assert "already exists; choose an empty directory for the ledger" in str(error)
    else:
        aftermath.go_on(directory)


@pytest.mark.parametrize("name", STORIES)
def test_without_a_fault_a_run_makes_the_calls_that_are_made_to_fail(name: str, counted: Counted) -> None:
    made = {SPELLINGS[call] for call, _ in counted[name]}

    assert made == set(CALLS) - ({"unlink"} if name == "go on" else set())


@pytest.mark.requirement("LEDGER-WRITE-003")
def test_every_directory_that_gets_a_name_is_synced(tmp_path: Path) -> None:
    require_strace()
    directory = tmp_path / "made" / "with" / "run"

    synced = synced_by(lambda _: create_ledger(directory).close(), tmp_path / "log")

    named = [directory / "ledger.jsonl", directory / "bodies.tar", directory, *list(directory.parents)[:3]]
    assert synced == {str(path) for path in named}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize(("call", "error"), INJECTED)
def test_a_call_that_fails_is_told_and_harms_nothing(
    name: str, call: str, error: str, counted: Counted, tmp_path: Path, wave_plan: bytes
) -> None:
    cases = [(made, number) for made, number in counted[name] if SPELLINGS[made] == call]

    found = endings(name, cases, f"error={error}", tmp_path, wave_plan)

    for directory, ending in found.values():
        check_aftermath(directory, ending, wave_plan)
    assert {case: ending.code for case, (_, ending) in found.items() if ending.code not in (0, REFUSED)} == {}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("call", CALLS)
def test_a_process_that_is_killed_at_a_call_harms_nothing(
    name: str, call: str, counted: Counted, tmp_path: Path, wave_plan: bytes
) -> None:
    cases = [(made, number) for made, number in counted[name] if SPELLINGS[made] == call]

    found = endings(name, cases, "signal=KILL", tmp_path, wave_plan)

    assert {case: ending.code for case, (_, ending) in found.items() if ending.code != -9} == {}
    for directory, ending in found.values():
        check_aftermath(directory, ending, wave_plan)
