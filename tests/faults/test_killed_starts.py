"""A run killed at any system call while it starts can be resumed, or started again in the same directory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, bytes_in, check_valid
from faults.injection import require_strace, run_with_fault, system_calls
from faults.process import REFUSED, Work
from forum_runner import api
from forum_runner.api import ResumeRequest, RunRequest, Workspace
from forum_runner.app.invocation import INVOCATION, read_invocation
from forum_runner.errors import UsageError

# test_run_kills.py covers kills after this number of entries.
_LAST_START_ENTRY = 3

Calls = list[tuple[str, int]]


@pytest.fixture(scope="module")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> RunRequest:
    folder = Folder(tmp_path_factory.mktemp("bundle"))
    answers: list[Mapping[str, Any]] = [{"output": "done"}]
    path = folder.write({"a": ask("Do it.")}, roster=MODEL, answers=answers, outputs={"a": "a"})
    return RunRequest(str(path), folder.path, is_deterministic=True)


def run_once(workflow: RunRequest, out: Path) -> None:
    asyncio.run(api.run(Workspace.at(out.parent), replace(workflow, out=out)))


def run_in_process(workflow: RunRequest, out: Path) -> Work:
    def work(_acknowledge: object) -> None:
        run_once(workflow, out)

    return work


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory, workflow: RunRequest) -> Calls:
    """The system calls of a run on its directory. An earlier run loads the modules."""
    require_strace()
    run_once(workflow, tmp_path_factory.mktemp("loaded") / "run")
    parent = tmp_path_factory.mktemp("counted")
    return list(system_calls(run_in_process(workflow, parent / "run"), parent, parent / "log"))


def entry_count(out: Path) -> int:
    ledger = out / "ledger.jsonl"
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def test_a_start_killed_at_any_call_is_resumed_or_repeated(tmp_path: Path, workflow: RunRequest, calls: Calls) -> None:
    leftovers: set[tuple[str, ...]] = set()
    for call, number in calls:
        out = tmp_path / f"{call}-{number}" / "run"
        out.parent.mkdir()
        ending = run_with_fault(run_in_process(workflow, out), call, number, "signal=KILL")
        assert ending.code == -9
        entries = entry_count(out)
        if entries > _LAST_START_ENTRY:
            continue
        if entries:
            assert read_invocation(out).root == workflow.root
            asyncio.run(api.resume(Workspace.at(out), ResumeRequest(str(out))))
        else:
            leftovers.add(tuple(sorted(name.partition(".json.")[0] for name in bytes_in(out))) if out.exists() else ())
            if not try_to_start_again(workflow, out):
                continue
        check_valid(out)

    assert leftovers >= {(), ("bodies.tar", "ledger.jsonl"), (".invocation", "bodies.tar", "ledger.jsonl")}
    assert ("bodies.tar", "invocation.json", "ledger.jsonl") in leftovers


def try_to_start_again(workflow: RunRequest, out: Path) -> bool:
    """Start the run again and return whether it starts. Bodies without an entry are refused: they could belong to a
    different run."""
    try:
        run_once(workflow, out)
    except UsageError as error:
        assert (out / "bodies.tar").stat().st_size > 0
        assert str(error) == f"'{out}/bodies.tar' already exists; choose an empty directory"
        return False
    assert [name for name in bytes_in(out) if name.startswith(f".{INVOCATION}")] == []
    return True


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_failed_start_leaves_a_directory_where_a_run_can_start(
    tmp_path: Path, workflow: RunRequest, calls: Calls, error: str
) -> None:
    for call, number in calls:
        out = tmp_path / f"{call}-{number}" / "run"
        out.parent.mkdir()
        ending = run_with_fault(run_in_process(workflow, out), call, number, f"error={error}")
        assert ending.code in (0, REFUSED), (call, number)
        if entry_count(out) == 0 and try_to_start_again(workflow, out):
            check_valid(out)
