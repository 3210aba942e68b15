"""If a task runs again, tasks with an order edge from it run again, because fingerprints do not cover order edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import Folder, Result, check_valid, sh, truncate_after


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def order_edges(*tasks: str) -> list[dict[str, str]]:
    return [{"task": task, "edge": "order"} for task in tasks]


def write_workflow(folder: Folder, word: str, **other_tasks: Any) -> None:
    tasks = {
        "build": sh(f"echo {word} > built"),
        "test": sh("grep good built", needs=order_edges("build")),
        "publish": sh("cat built", needs=order_edges("test")),
        "beside": sh("echo beside"),
        **other_tasks,
    }
    folder.write(tasks)


def rerun(folder: Folder, *arguments: str) -> Result:
    result = folder.forum("resume", "first", "--failed", "--out", "second", "--progress", "none", *arguments)
    check_valid(folder.path / "second")
    return result


@pytest.mark.requirement("RUN-REUSE-003")
def test_if_a_task_runs_again_tasks_ordered_after_it_run_again_transitively(folder: Folder) -> None:
    write_workflow(folder, "good")
    assert folder.run(out="first").code == 0
    write_workflow(folder, "good again")

    result = rerun(folder)

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {"build", "test", "publish"}
    assert result.err.splitlines() == [
        "  beside: reused (its fingerprint is the same)",
        "  build: run (its command changed)",
        "  test: run (it comes after 'build', which ran again)",
        "  publish: run (it comes after 'test', which ran again)",
    ]


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_check_of_a_broken_build_runs_again_and_fails(folder: Folder) -> None:
    write_workflow(folder, "good")
    folder.run(out="first")
    write_workflow(folder, "bad")

    result = rerun(folder)

    assert result.code == 1, result
    assert folder.task_states("second")["test"] == "failed: error"


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_task_after_reused_or_skipped_tasks_is_reused(folder: Folder) -> None:
    never = {"task": "ask", "output": {"const": "no"}}
    other_tasks = {
        "ask": sh("echo yes"),
        "skipped": sh("echo", needs=order_edges("ask"), when=never),
        "last": sh("cat built", needs=order_edges("build", "skipped")),
    }
    write_workflow(folder, "good", **other_tasks)
    assert folder.run(out="first").code == 0
    write_workflow(folder, "good", **other_tasks, beside=sh("echo elsewhere"))

    result = rerun(folder)

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {"beside"}
    assert folder.reused_tasks("second") == {"build", "test", "publish", "ask", "last"}


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_condition_on_a_task_that_ran_again_prevents_reuse_but_unchanged_data_does_not(folder: Folder) -> None:
    def write(command: str) -> None:
        folder.write(
            {
                "decide": sh(command),
                "asked": sh(
                    "echo asked", needs=order_edges("decide"), when={"task": "decide", "output": {"const": "yes"}}
                ),
                "given": sh("cat", needs=["decide"]),
                "both": sh("cat", needs=["decide"], when={"task": "decide", "output": {"const": "yes"}}),
            }
        )

    write("echo yes")
    folder.run(out="first")
    write("echo yes; true")

    result = rerun(folder)

    assert result.code == 0, result
    assert "asked: run (it comes after 'decide', which ran again)" in result.err
    assert folder.reused_tasks("second") == {"given", "both"}


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_task_counts_as_run_again_if_its_instances_ran_again(folder: Folder) -> None:
    def write(command: str) -> None:
        each = {"task": "list", "as": "item", "max": 3}
        folder.write(
            {
                "list": sh("echo '[1, 2]'", output={"type": "array"}),
                "made": sh(command, foreach=each),
                "checked": sh("echo checked", foreach=each, needs=order_edges("made")),
                "last": sh("echo last", needs=order_edges("checked")),
            }
        )

    write("echo made")
    folder.run(out="first")
    write("echo made again")

    result = rerun(folder)

    assert result.code == 0, result
    assert folder.reused_tasks("second") == {"list"}
    assert "checked[1]: run (it comes after 'made', which ran again)" in result.err
    assert "last: run (it comes after 'checked', which ran again)" in result.err


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_resumed_run_considers_the_tasks_that_an_earlier_process_ran(folder: Folder) -> None:
    write_workflow(folder, "good")
    folder.run(out="first")
    write_workflow(folder, "good again")
    rerun(folder)
    kinds = [(entry["kind"], entry["data"].get("task")) for entry in folder.entries("second")]
    truncate_after(folder.path / "second", kinds.index(("task.ended", "build")) + 1)

    result = folder.forum("resume", "second", "--progress", "none")

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {"build", "test", "publish"}
    assert "test: run (it comes after 'build', which ran again)" in result.err
    check_valid(folder.path / "second")


@pytest.mark.requirement("RUN-REUSE-003")
def test_each_repetition_considers_only_the_tasks_that_it_ran_itself(folder: Folder) -> None:
    """The first repetition leaves a file, so that the second one skips a task that the first one ran."""
    tasks = {
        "look": sh("cat seen 2>/dev/null || echo no"),
        "once": sh("echo yes > seen", needs=order_edges("look"), when={"task": "look", "output": {"const": "no"}}),
        "check": sh("echo check", needs=order_edges("once")),
        "last": sh("cat", needs=["check"]),
    }
    folder.write(tasks)
    (folder.path / "seen").write_text("yes\n", encoding="utf-8")
    assert folder.run(out="first").code == 0
    (folder.path / "seen").unlink()

    result = folder.forum(
        "run", "workflow.yaml", "--only", "look", "--only", "last", "--base", "first", "--repeat", "2"
    )

    assert result.code == 0, result
    runs = sorted(path.name for path in (folder.path / ".forum/runs").iterdir())
    started = [set(folder.attempt_counts(f".forum/runs/{run}")) for run in runs]
    assert started == [{"look", "once", "check", "last"}, {"look", "last"}]


@pytest.mark.requirement("RUN-REUSE-003")
def test_the_cache_depends_only_on_the_fingerprint(folder: Folder) -> None:
    cached = sh("echo x >> effects; cat built", needs=order_edges("build"), cache=True, idempotent=True)
    folder.write({"build": sh("echo one > built"), "cached": cached})
    folder.run(out="first")
    folder.write({"build": sh("echo two > built"), "cached": cached})

    result = folder.run(out="second")

    assert result.code == 0, result
    assert (set(folder.attempt_counts("second")), folder.reused_tasks("second")) == ({"build"}, {"cached"})
    assert folder.lines("effects") == ["x"]


def test_a_cached_result_is_reported_as_reused(folder: Folder) -> None:
    folder.write({"a": sh("echo a"), "b": sh("cat", needs=["a"], cache=True, idempotent=True)})
    folder.run(out="first")

    result = folder.run("--from", "b", "--base", "first", out="second")

    assert folder.reused_tasks("second") == {"a", "b"}
    assert result.err.splitlines() == [
        "  a: reused (its fingerprint is the same)",
        "  b: reused (its fingerprint is in the cache)",
    ]


def test_a_result_that_lacks_an_output_of_the_plan_is_reported_as_run_again(folder: Folder) -> None:
    tasks = {"a": sh("""echo '{"n": 1}'""", output=True), "b": sh("echo b", needs=order_edges("a"))}
    folder.write(tasks)
    folder.run(out="first")
    folder.write(tasks, outputs={"m": {"task": "a", "select": "/m"}})

    result = folder.forum("resume", "first", "--failed", "--out", "second", "--progress", "none")

    assert "a: run (its output lacks a value that the plan's `outputs` select)" in result.err
    assert "a" in folder.attempt_counts("second")
