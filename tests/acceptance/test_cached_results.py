"""`cache: true`: results are reused only from earlier runs that still exist and are valid."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import Folder, check_valid, sh

TASK = {"cache": True, "idempotent": True}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "work")
    write(folder)
    assert folder.run(out="first").code == 0
    return folder


def write(folder: Folder, word: str = "one", **fields: Any) -> None:
    tasks = {
        "kept": sh(f"echo {word} >> effects; echo {word}", **TASK, **fields),
        "fresh": sh("echo fresh >> effects; cat", needs=["kept"]),
    }
    folder.write(tasks, outputs={"fresh": "fresh"})


def run_tasks(folder: Folder, out: str = "second") -> set[str]:
    result = folder.run(out=out)
    assert result.code == 0, result
    check_valid(folder.path / out)
    return set(folder.attempt_counts(out))


def test_a_result_is_reused_from_the_run_named_in_the_entry(folder: Folder) -> None:
    assert run_tasks(folder) == {"fresh"}

    (reused,) = folder.entries("second", "task.reused")
    first = folder.entries("first")
    assert (reused["data"]["source"], reused["data"]["run"]) == ("cache", first[0]["run"])
    assert first[reused["data"]["seq"]]["kind"] == "task.finished"
    assert first[reused["data"]["seq"]]["data"]["task"] == "kept"
    assert folder.lines("effects") == ["one", "fresh", "fresh"]
    assert folder.forum("replay", "second").code == 0


def test_deleting_the_original_run_of_a_reused_result_is_harmless(folder: Folder) -> None:
    run_tasks(folder)
    shutil.rmtree(folder.path / "first")

    assert run_tasks(folder, "third") in ({"fresh"}, {"kept", "fresh"})


def test_a_deleted_run_is_not_reused(folder: Folder) -> None:
    shutil.rmtree(folder.path / "first")

    assert run_tasks(folder) == {"kept", "fresh"}


def test_a_moved_folder_keeps_its_cache(folder: Folder) -> None:
    moved = Folder(folder.path.rename(folder.path.with_name("elsewhere")))

    assert run_tasks(moved) == {"fresh"}


def test_a_changed_task_is_not_reused(folder: Folder) -> None:
    write(folder, "two")

    assert run_tasks(folder) == {"kept", "fresh"}
    assert folder.read("second/outputs/fresh.txt").count("two") == 1


def test_an_altered_run_is_not_reused(folder: Folder) -> None:
    archive = folder.path / "first/bodies.tar"
    archive.write_bytes(archive.read_bytes().replace(b"one\0", b"two\0"))
    assert folder.forum("verify", "first").code == 3

    assert run_tasks(folder) == {"kept", "fresh"}


def test_a_failed_task_is_not_cached(folder: Folder) -> None:
    folder.write({"kept": sh("echo x >> effects; exit 1", **TASK)})

    assert [folder.run(out=out).code for out in ("second", "third")] == [1, 1]
    assert set(folder.attempt_counts("third")) == {"kept"}


def test_sensitive_tasks_and_repeated_runs_do_not_use_the_cache(folder: Folder) -> None:
    write(folder, "secret", sensitive=True)
    assert run_tasks(folder, "second") == {"kept", "fresh"}
    assert run_tasks(folder, "third") == {"kept", "fresh"}

    write(folder)
    repeated = folder.forum("run", "workflow.yaml", "--repeat", "2", "--progress", "none")
    assert repeated.code == 0, repeated
    runs = [f".forum/runs/{path.name}" for path in (folder.path / ".forum/runs").iterdir()]
    assert [set(folder.attempt_counts(run)) for run in runs] == [{"kept", "fresh"}, {"kept", "fresh"}]


def test_a_resumed_run_adds_its_results_to_the_cache(folder: Folder) -> None:
    gated = sh("cat", needs=["kept"], gate={"question": "?"})
    folder.write({"kept": sh("echo three >> effects; echo three", **TASK), "gated": gated})
    assert folder.run(out="second").code == 5
    folder.forum("gate", "approve", "second", "gated", "--by", "ann")
    assert folder.forum("resume", "second").code == 0

    assert folder.run(out="third").code == 5
    assert folder.reused("third") == {"kept"}
    assert folder.lines("effects").count("three") == 1


def test_a_corrupt_cache_is_ignored(folder: Folder) -> None:
    for path in (folder.path / ".forum/cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff{")

    assert run_tasks(folder) == {"kept", "fresh"}


def test_a_task_that_uses_a_secret_is_never_reused(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "other")
    secret = {"who": {"type": "string", "secret": True}}
    folder.write({"a": sh("echo ${{ inputs.who }} | tr a-z A-Z", **TASK)}, inputs=secret, outputs={"a": "a"})

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
    assert "that run is scripted and this one is live" in result.err
    assert not (folder.path / "live").exists()
