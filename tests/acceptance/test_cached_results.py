"""`cache: true`: results are reused only from earlier runs that still exist and are valid."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import Folder, check_valid, sh

CACHEABLE = {"cache": True, "idempotent": True}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "work")
    write_workflow(folder)
    assert folder.run(out="first").code == 0
    return folder


def write_workflow(folder: Folder, word: str = "one", **fields: Any) -> None:
    tasks = {
        "cached": sh(f"echo {word} >> effects; echo {word}", **CACHEABLE, **fields),
        "uncached": sh("echo uncached >> effects; cat", needs=["cached"]),
    }
    folder.write(tasks, outputs={"uncached": "uncached"})


def run_tasks(folder: Folder, out: str = "second") -> set[str]:
    """Run the workflow and return the tasks that were executed, not reused."""
    result = folder.run(out=out)
    assert result.code == 0, result
    check_valid(folder.path / out)
    return set(folder.attempt_counts(out))


def test_the_entry_of_a_reused_result_names_its_original_run(folder: Folder) -> None:
    assert run_tasks(folder) == {"uncached"}

    (reused,) = folder.entries("second", "task.reused")
    first = folder.entries("first")
    assert (reused["data"]["source"], reused["data"]["run"]) == ("cache", first[0]["run"])
    assert first[reused["data"]["seq"]]["kind"] == "task.finished"
    assert first[reused["data"]["seq"]]["data"]["task"] == "cached"
    assert folder.lines("effects") == ["one", "uncached", "uncached"]
    assert folder.forum("replay", "second").code == 0


def test_deleting_the_original_run_of_a_reused_result_is_harmless(folder: Folder) -> None:
    run_tasks(folder)
    shutil.rmtree(folder.path / "first")

    assert run_tasks(folder, "third") in ({"uncached"}, {"cached", "uncached"})


def test_a_deleted_run_is_not_reused(folder: Folder) -> None:
    shutil.rmtree(folder.path / "first")

    assert run_tasks(folder) == {"cached", "uncached"}


def test_a_moved_folder_keeps_its_cache(folder: Folder) -> None:
    moved = Folder(folder.path.rename(folder.path.with_name("elsewhere")))

    assert run_tasks(moved) == {"uncached"}


def test_a_changed_task_is_not_reused(folder: Folder) -> None:
    write_workflow(folder, "two")

    assert run_tasks(folder) == {"cached", "uncached"}
    assert folder.read("second/outputs/uncached.txt").count("two") == 1


def test_an_altered_run_is_not_reused(folder: Folder) -> None:
    archive = folder.path / "first/bodies.tar"
    archive.write_bytes(archive.read_bytes().replace(b"one\0", b"two\0"))
    assert folder.forum("verify", "first").code == 3

    assert run_tasks(folder) == {"cached", "uncached"}


def test_a_failed_task_is_not_cached(folder: Folder) -> None:
    folder.write({"cached": sh("echo x >> effects; exit 1", **CACHEABLE)})

    assert [folder.run(out=out).code for out in ("second", "third")] == [1, 1]
    assert set(folder.attempt_counts("third")) == {"cached"}


def test_sensitive_tasks_and_repeated_runs_do_not_use_the_cache(folder: Folder) -> None:
    write_workflow(folder, "secret", sensitive=True)
    assert run_tasks(folder, "second") == {"cached", "uncached"}
    assert run_tasks(folder, "third") == {"cached", "uncached"}

    write_workflow(folder)
    repeated = folder.forum("run", "workflow.yaml", "--repeat", "2", "--progress", "none")
    assert repeated.code == 0, repeated
    runs = [f".forum/runs/{path.name}" for path in (folder.path / ".forum/runs").iterdir()]
    assert [set(folder.attempt_counts(run)) for run in runs] == [{"cached", "uncached"}, {"cached", "uncached"}]


def test_a_resumed_run_adds_its_results_to_the_cache(folder: Folder) -> None:
    gated = sh("cat", needs=["cached"], gate={"question": "?"})
    folder.write({"cached": sh("echo three >> effects; echo three", **CACHEABLE), "gated": gated})
    assert folder.run(out="second").code == 5
    folder.forum("gate", "approve", "second", "gated", "--by", "ann")
    assert folder.forum("resume", "second").code == 0

    assert folder.run(out="third").code == 5
    assert folder.reused_tasks("third") == {"cached"}
    assert folder.lines("effects").count("three") == 1


def test_a_corrupt_cache_is_ignored(folder: Folder) -> None:
    for path in (folder.path / ".forum/cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff{")

    assert run_tasks(folder) == {"cached", "uncached"}


def test_a_task_that_uses_a_secret_is_never_reused(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "other")
    secret = {"who": {"type": "string", "secret": True}}
    folder.write({"a": sh("echo ${{ inputs.who }} | tr a-z A-Z", **CACHEABLE)}, inputs=secret, outputs={"a": "a"})

    folder.run("--input", "who=alice", out="first")
    folder.run("--input", "who=bobby", out="second")

    assert set(folder.attempt_counts("second")) == {"a"}
    assert folder.read("second/outputs/a.txt") == "BOBBY"


def test_scripted_results_are_not_reused_in_a_live_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "other")
    answers = [{"task": "a", "output": "FAKE"}, {"task": "b", "output": "FAKE"}]
    folder.write({"a": sh("echo real"), "b": sh("cat", needs=["a"])}, outputs={"b": "b"}, answers=answers)
    folder.run("--scripted", out="scripted")

    result = folder.run("--from", "b", "--base", "scripted", out="live")

    assert result.code == 2
    assert "it is scripted, and this run is live" in result.err
    assert not (folder.path / "live").exists()
