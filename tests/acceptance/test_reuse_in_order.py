"""What comes after something that ran again, and is handed nothing by it, is run again: its fingerprint cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import Folder, Result, check_valid, cut_after, sh


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def after(*tasks: str) -> list[dict[str, str]]:
    return [{"task": task, "edge": "order"} for task in tasks]


def written(folder: Folder, word: str, **others: Any) -> None:
    tasks = {
        "build": sh(f"echo {word} > built"),
        "test": sh("grep good built", needs=after("build")),
        "publish": sh("cat built", needs=after("test")),
        "beside": sh("echo beside"),
        **others,
    }
    folder.write(tasks)


def begun_anew(folder: Folder, *arguments: str) -> Result:
    result = folder.forum("resume", "first", "--failed", "--out", "second", "--progress", "none", *arguments)
    check_valid(folder.path / "second")
    return result


@pytest.mark.requirement("RUN-REUSE-003")
def test_what_comes_after_a_task_that_ran_again_is_run_again_and_so_on(folder: Folder) -> None:
    written(folder, "good")
    assert folder.run(out="first").code == 0
    written(folder, "good again")

    result = begun_anew(folder)

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {"build", "test", "publish"}
    assert result.err.splitlines() == [
        "  beside: reused, its fingerprint is the same",
        "  build: run again, its command changed",
        "  test: run again, it comes after 'build', which ran again",
        "  publish: run again, it comes after 'test', which ran again",
    ]


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_test_of_something_that_is_broken_by_now_fails(folder: Folder) -> None:
    written(folder, "good")
    folder.run(out="first")
    written(folder, "bad")

    result = begun_anew(folder)

    assert result.code == 1, result
    assert folder.task_states("second")["test"] == "failed: error"


@pytest.mark.requirement("RUN-REUSE-003")
def test_what_comes_after_what_was_reused_or_skipped_is_reused(folder: Folder) -> None:
    never = {"task": "ask", "output": {"const": "no"}}
    others = {
        "ask": sh("echo yes"),
        "skipped": sh("echo", needs=after("ask"), when=never),
        "last": sh("cat built", needs=after("build", "skipped")),
    }
    written(folder, "good", **others)
    assert folder.run(out="first").code == 0
    written(folder, "good", **others, beside=sh("echo elsewhere"))

    result = begun_anew(folder)

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {"beside"}
    assert folder.reused("second") == {"build", "test", "publish", "ask", "last"}


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_condition_on_a_task_that_ran_again_counts_and_data_counts_by_its_digest(folder: Folder) -> None:
    def write(command: str) -> None:
        folder.write(
            {
                "decide": sh(command),
                "asked": sh("echo asked", needs=after("decide"), when={"task": "decide", "output": {"const": "yes"}}),
                "given": sh("cat", needs=["decide"]),
                "both": sh("cat", needs=["decide"], when={"task": "decide", "output": {"const": "yes"}}),
            }
        )

    write("echo yes")
    folder.run(out="first")
    write("echo yes; true")

    result = begun_anew(folder)

    assert result.code == 0, result
    assert "asked: run again, it comes after 'decide', which ran again" in result.err
    assert folder.reused("second") == {"given", "both"}


@pytest.mark.requirement("RUN-REUSE-003")
def test_instances_count_as_the_task_that_they_are_of(folder: Folder) -> None:
    def write(command: str) -> None:
        each = {"task": "list", "as": "item", "max": 3}
        folder.write(
            {
                "list": sh("echo '[1, 2]'", output={"type": "array"}),
                "made": sh(command, foreach=each),
                "checked": sh("echo checked", foreach=each, needs=after("made")),
                "last": sh("echo last", needs=after("checked")),
            }
        )

    write("echo made")
    folder.run(out="first")
    write("echo made anew")

    result = begun_anew(folder)

    assert result.code == 0, result
    assert folder.reused("second") == {"list"}
    assert "checked[1]: run again, it comes after 'made', which ran again" in result.err
    assert "last: run again, it comes after 'checked', which ran again" in result.err


@pytest.mark.requirement("RUN-REUSE-003")
def test_what_an_earlier_process_ran_counts_when_the_run_goes_on(folder: Folder) -> None:
    written(folder, "good")
    folder.run(out="first")
    written(folder, "good again")
    begun_anew(folder)
    kinds = [(entry["kind"], entry["data"].get("task")) for entry in folder.entries("second")]
    cut_after(folder.path / "second", kinds.index(("task.ended", "build")) + 1)

    result = folder.forum("resume", "second", "--progress", "none")

    assert result.code == 0, result
    assert set(folder.attempt_counts("second")) == {"build", "test", "publish"}
    assert "test: run again, it comes after 'build', which ran again" in result.err
    check_valid(folder.path / "second")


@pytest.mark.requirement("RUN-REUSE-003")
def test_each_repetition_looks_only_at_what_it_ran_itself(folder: Folder) -> None:
    """The first one leaves a file behind, so that the second one skips a task that the first one ran."""
    tasks = {
        "look": sh("cat seen 2>/dev/null || echo no"),
        "once": sh("echo yes > seen", needs=after("look"), when={"task": "look", "output": {"const": "no"}}),
        "check": sh("echo check", needs=after("once")),
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
def test_the_cache_goes_by_the_fingerprint_alone(folder: Folder) -> None:
    kept = sh("echo x >> effects; cat built", needs=after("build"), cache=True, idempotent=True)
    folder.write({"build": sh("echo one > built"), "kept": kept})
    folder.run(out="first")
    folder.write({"build": sh("echo two > built"), "kept": kept})

    result = folder.run(out="second")

    assert result.code == 0, result
    assert (set(folder.attempt_counts("second")), folder.reused("second")) == ({"build"}, {"kept"})
    assert folder.lines("effects") == ["x"]


def test_what_the_cache_gives_is_told_as_reused(folder: Folder) -> None:
    folder.write({"a": sh("echo a"), "b": sh("cat", needs=["a"], cache=True, idempotent=True)})
    folder.run(out="first")

    result = folder.run("--from", "b", "--base", "first", out="second")

    assert folder.reused("second") == {"a", "b"}
    assert result.err.splitlines() == [
        "  a: reused, its fingerprint is the same",
        "  b: reused, its fingerprint is in the cache",
    ]


def test_a_result_that_lacks_an_output_of_the_plan_is_told_as_run_again(folder: Folder) -> None:
    tasks = {"a": sh("""echo '{"n": 1}'""", output=True), "b": sh("echo b", needs=after("a"))}
    folder.write(tasks)
    folder.run(out="first")
    folder.write(tasks, outputs={"m": {"task": "a", "select": "/m"}})

    result = folder.forum("resume", "first", "--failed", "--out", "second", "--progress", "none")

    assert "a: run again, because its output lacks what the plan's outputs select" in result.err
    assert "a" in folder.attempt_counts("second")
