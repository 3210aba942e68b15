"""`cache: true`: a result is taken from an earlier run that is still there and still holds, and from no other."""

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


def ran(folder: Folder, out: str = "second") -> set[str]:
    result = folder.run(out=out)
    assert result.code == 0, result
    check_valid(folder.path / out)
    return set(folder.attempt_counts(out))


def test_a_result_is_taken_from_the_run_that_the_entry_names(folder: Folder) -> None:
    assert ran(folder) == {"fresh"}

    (reused,) = folder.entries("second", "task.reused")
    first = folder.entries("first")
    assert (reused["data"]["source"], reused["data"]["run"]) == ("cache", first[0]["run"])
    assert first[reused["data"]["seq"]]["kind"] == "task.finished"
    assert first[reused["data"]["seq"]]["data"]["task"] == "kept"
    assert folder.lines("effects") == ["one", "fresh", "fresh"]
    assert folder.forum("replay", "second").code == 0


def test_a_chain_of_reuse_leads_back_to_where_the_work_was_done(folder: Folder) -> None:
    ran(folder)
    shutil.rmtree(folder.path / "first")

    assert ran(folder, "third") in ({"fresh"}, {"kept", "fresh"})


def test_a_run_that_is_gone_is_no_result(folder: Folder) -> None:
    shutil.rmtree(folder.path / "first")

    assert ran(folder) == {"kept", "fresh"}


def test_a_folder_that_was_moved_takes_its_results_along(folder: Folder) -> None:
    moved = Folder(folder.path.rename(folder.path.with_name("elsewhere")))

    assert ran(moved) == {"fresh"}


def test_another_instruction_is_another_piece_of_work(folder: Folder) -> None:
    write(folder, "two")

    assert ran(folder) == {"kept", "fresh"}
    assert folder.read("second/outputs/fresh.txt").count("two") == 1


def test_a_run_that_was_touched_gives_nothing(folder: Folder) -> None:
    archive = folder.path / "first/bodies.tar"
    archive.write_bytes(archive.read_bytes().replace(b"one\0", b"two\0"))
    assert folder.forum("verify", "first").code == 3

    assert ran(folder) == {"kept", "fresh"}


def test_what_did_not_pass_is_not_kept(folder: Folder) -> None:
    folder.write({"kept": sh("echo x >> effects; exit 1", **TASK)})

    assert [folder.run(out=out).code for out in ("second", "third")] == [1, 1]
    assert set(folder.attempt_counts("third")) == {"kept"}


def test_what_is_sensitive_or_scripted_or_repeated_is_not_taken_from_the_cache(folder: Folder) -> None:
    write(folder, "secret", sensitive=True)
    assert ran(folder, "second") == {"kept", "fresh"}
    assert ran(folder, "third") == {"kept", "fresh"}

    write(folder)
    repeated = folder.forum("run", "workflow.yaml", "--repeat", "2", "--progress", "none")
    assert repeated.code == 0, repeated
    runs = [f".forum/runs/{path.name}" for path in (folder.path / ".forum/runs").iterdir()]
    assert [set(folder.attempt_counts(run)) for run in runs] == [{"kept", "fresh"}, {"kept", "fresh"}]


def test_a_run_that_was_gone_on_with_leaves_its_results_too(folder: Folder) -> None:
    gated = sh("cat", needs=["kept"], gate={"question": "?"})
    folder.write({"kept": sh("echo three >> effects; echo three", **TASK), "gated": gated})
    assert folder.run(out="second").code == 5
    folder.forum("gate", "approve", "second", "gated", "--by", "ann")
    assert folder.forum("resume", "second").code == 0

    assert folder.run(out="third").code == 5
    assert folder.reused("third") == {"kept"}
    assert folder.lines("effects").count("three") == 1


def test_a_broken_cache_is_no_reason_to_stop(folder: Folder) -> None:
    for path in (folder.path / ".forum/cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff{")

    assert ran(folder) == {"kept", "fresh"}


def test_a_task_that_a_secret_is_put_into_is_never_taken_from_another_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "other")
    secret = {"who": {"type": "string", "secret": True}}
    folder.write({"a": sh("echo ${{ inputs.who }} | tr a-z A-Z", **TASK)}, inputs=secret, outputs={"a": "a"})

    folder.run("--input", "who=alice", out="first")
    folder.run("--input", "who=bobby", out="second")

    assert set(folder.attempt_counts("second")) == {"a"}
    assert folder.read("second/outputs/a.txt") == "BOBBY"


def test_prepared_results_are_not_taken_for_real_ones(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "other")
    answers = [{"task": "a", "output": "FAKE"}, {"task": "b", "output": "FAKE"}]
    folder.write({"a": sh("echo real"), "b": sh("cat", needs=["a"])}, outputs={"b": "b"}, answers=answers)
    folder.run("--scripted", out="scripted")

    result = folder.run("--from", "b", "--base", "scripted", out="live")

    assert result.code == 2
    assert "it is scripted and this one is live" in result.err
    assert not (folder.path / "live").exists()
