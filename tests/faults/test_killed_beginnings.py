"""A run that is killed while it begins, at any system call, is gone on with, or begun in the same directory again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acceptance.running import MODEL, Folder, ask, bytes_in, check_holds
from faults.injection import calls_of, require_strace, run_with_fault
from faults.process import REFUSED, Work
from forum_runner.app.invocation import INVOCATION, read_invocation
from forum_runner.app.resume import find_stopped, resume
from forum_runner.app.run_preparation import Prepared, prepare
from forum_runner.app.runs import RunServices, start
from forum_runner.app.workflows import Inputs, compile_file
from forum_runner.errors import UsageError
from forum_runner.progress.silence import Silence

# What comes later is for the tests of runs that are killed.
_ENTRIES = 3

Calls = list[tuple[str, int]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = Folder(tmp_path_factory.mktemp("bundle"))
    answers: list[Mapping[str, Any]] = [{"output": "done"}]
    path = folder.write({"a": ask("Do it.")}, roster=MODEL, answers=answers, outputs={"a": "a"})
    compiled = compile_file(str(path), folder.path, Inputs())
    return prepare(compiled, str(path), is_scripted=True)


def begin(prepared: Prepared, out: Path) -> Work:
    def work(_acknowledge: object) -> None:
        start(prepared, RunServices(Silence()), is_deterministic=True, out=out)

    return work


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Calls:
    """Those that touch the run directory; modules that a run loads on its way are loaded before."""
    require_strace()
    start(prepared, RunServices(Silence()), is_deterministic=True, out=tmp_path_factory.mktemp("loaded") / "run")
    parent = tmp_path_factory.mktemp("counted")
    return list(calls_of(begin(prepared, parent / "run"), parent, parent / "log"))


def entries_in(out: Path) -> int:
    ledger = out / "ledger.jsonl"
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def test_a_beginning_that_is_killed_at_a_call_is_gone_on_with_or_made_again(
    tmp_path: Path, prepared: Prepared, calls: Calls
) -> None:
    left: set[tuple[str, ...]] = set()
    for call, number in calls:
        out = tmp_path / f"{call}-{number}" / "run"
        out.parent.mkdir()
        ending = run_with_fault(begin(prepared, out), call, number, "signal=KILL")
        assert ending.code == -9
        entries = entries_in(out)
        if entries > _ENTRIES:
            continue
        if entries:
            assert read_invocation(out).root == prepared.root
            resume(find_stopped(str(out), None), {}, RunServices(Silence()))
        else:
            left.add(tuple(sorted(name.partition(".json.")[0] for name in bytes_in(out))) if out.exists() else ())
            if not begins_again(prepared, out):
                continue
        check_holds(out)

    assert left >= {(), ("bodies.tar", "ledger.jsonl"), (".invocation", "bodies.tar", "ledger.jsonl")}
    assert ("bodies.tar", "invocation.json", "ledger.jsonl") in left


def begins_again(prepared: Prepared, out: Path) -> bool:
    """Bodies without the entry that names them are refused: they could be somebody's."""
    try:
        start(prepared, RunServices(Silence()), is_deterministic=True, out=out)
    except UsageError as error:
        assert (out / "bodies.tar").stat().st_size > 0
        assert str(error) == f"'{out}/bodies.tar' is there already; a run is given a directory of its own"
        return False
    assert [name for name in bytes_in(out) if name.startswith(f".{INVOCATION}")] == []
    return True


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_beginning_that_fails_leaves_a_directory_that_a_run_can_begin_in(
    tmp_path: Path, prepared: Prepared, calls: Calls, error: str
) -> None:
    for call, number in calls:
        out = tmp_path / f"{call}-{number}" / "run"
        out.parent.mkdir()
        ending = run_with_fault(begin(prepared, out), call, number, f"error={error}")
        assert ending.code in (0, REFUSED), (call, number)
        if entries_in(out) == 0 and begins_again(prepared, out):
            check_holds(out)
