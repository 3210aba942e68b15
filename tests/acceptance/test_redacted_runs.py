"""Runs that need a redacted body: later runs that could reuse it, and an unfinished run that resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acceptance.judge_command import report_on
from acceptance.workflow_folder import Folder, Result, check_valid, sh

REASON = ("--reason", "it contains a name", "--by", "ann")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def redact(folder: Folder, task: str, *options: str, out: str = "first", body: str = "output") -> Result:
    """Redact a body of the result of a task or instance."""
    seq = next(entry["seq"] for entry in folder.entries(out, "task.finished") if entry["data"]["task"] == task)
    result = folder.forum("redact", out, "--seq", str(seq), "--body", body, *REASON, *options)
    assert result.code == 0, result
    return result


def check_verified(folder: Folder, out: str) -> None:
    """Check all levels with both verifiers. A run with redacted bodies cannot be replayed."""
    for report in (folder.forum("verify", out, "--json").document(), report_on(folder.path / out)):
        assert (report["verdict"], report["codes"]) == ("valid", [])
        assert {level["status"] for level in report["levels"]} == {"ok"}


@pytest.fixture
def redacted(folder: Folder) -> Folder:
    """A run whose last task failed, with the cached result of its first task redacted."""
    folder.write(
        {
            "cached": sh("echo cached >> effects; echo a name", cache=True),
            "uncached": sh("echo uncached >> effects; cat", needs=["cached"]),
            "last": sh("exit 1", needs=["uncached"]),
        },
        outputs={"last": "last"},
    )
    assert folder.run(out="first").code == 1
    redact(folder, "cached")
    return folder


def test_a_redacted_result_is_not_reused_from_the_cache_but_its_successor_is(redacted: Folder) -> None:
    second, third = redacted.run(out="second"), redacted.run(out="third")

    assert (second.code, third.code) == (1, 1), (second, third)
    assert set(redacted.attempt_counts("second")) == {"cached", "uncached", "last"}
    assert "cached: run (its output in the cache was redacted)" in second.err
    assert (redacted.reused_tasks("third"), "redacted" in third.err) == ({"cached"}, False)
    for out in ("second", "third"):
        check_valid(redacted.path / out)


def test_a_dry_run_reports_a_redacted_cached_result(redacted: Folder) -> None:
    before = redacted.files()

    result = redacted.forum("run", "workflow.yaml", "--dry-run")

    assert result.code == 0, result
    assert "cached: its output in the cache was redacted" in result.out
    assert redacted.files() == before


def test_resume_failed_runs_a_redacted_task_again(redacted: Folder) -> None:
    result = redacted.forum("resume", "first", "--failed", "--out", "second", "--progress", "none")

    assert result.code == 1, result
    assert set(redacted.attempt_counts("second")) == {"cached", "last"}
    assert redacted.reused_tasks("second") == {"uncached"}
    assert "cached: run (its output was redacted)" in result.err
    check_valid(redacted.path / "second")


@pytest.mark.parametrize("option", ["--only", "--from"])
def test_a_part_that_needs_a_redacted_result_is_refused_and_leaves_no_files(redacted: Folder, option: str) -> None:
    before = redacted.files()

    result = redacted.run(option, "uncached", "--base", "first", out="second")

    assert result.code == 2, result
    assert "cannot reuse the result of 'cached' from run" in result.err
    assert "its output was redacted" in result.err
    assert redacted.files() == before


CONTINUE = {"on_failure": "continue"}


@pytest.fixture
def paused(folder: Folder) -> Folder:
    """A run that is paused at a gate, with tasks that need the output of `name`."""
    after_gate = {"task": "asked", "edge": "order"}
    tasks: dict[str, Any] = {
        "name": sh("echo a name"),
        "asked": sh("cat", needs=["name"], gate={"question": "?"}),
        "reader": sh("cat", needs=["name", after_gate]),
        "tolerant": sh("cat", needs=["name", after_gate], allow_failure=True),
        "only_if": sh(
            "echo x", needs=[{"task": "name", "edge": "order"}, after_gate], when={"task": "name", "output": True}
        ),
        "beside": sh("echo beside", needs=[after_gate]),
    }
    folder.write(tasks, policy=CONTINUE, outputs={"name": "name", "beside": "beside"})
    assert folder.run(out="first").code == 5
    return folder


def decide_and_resume(folder: Folder, decision: str) -> Result:
    assert folder.forum("gate", decision, "first", "asked", "--by", "ann").code == 0
    return folder.forum("resume", "first", "--progress", "none")


def test_tasks_that_need_a_redacted_body_fail_and_the_run_finishes(paused: Folder) -> None:
    redact(paused, "name")

    result = decide_and_resume(paused, "approve")

    assert result.code == 1, result
    assert paused.task_states("first") == {
        "name": "passed",
        "asked": "failed: expects",
        "reader": "failed: expects",
        "tolerant": "tolerated: expects",
        "only_if": "skipped: condition",
        "beside": "passed",
    }
    assert result.out.count("the value for 'name' is unavailable: body ") == 3
    assert [entry["data"]["output"] for entry in paused.entries("first", "answer.given")] == ["beside"]
    assert len(paused.entries("first", "task.lost")) == 0
    check_verified(paused, "first")


def test_a_rejected_task_is_refused_even_if_its_input_was_redacted(paused: Folder) -> None:
    redact(paused, "name")

    result = decide_and_resume(paused, "reject")

    assert (result.code, paused.task_states("first")["asked"]) == (6, "refused: rejected"), result
    check_verified(paused, "first")


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_passed_run_may_lack_a_redacted_output(folder: Folder) -> None:
    folder.write({"name": sh("echo a name"), "asked": sh("cat", gate={"question": "?"})}, outputs={"name": "name"})
    assert folder.run(out="first").code == 5
    redact(folder, "name")

    result = decide_and_resume(folder, "approve")

    assert result.code == 0, result
    assert len(folder.entries("first", "answer.given")) == 0
    check_verified(folder, "first")


def test_an_instance_whose_item_was_redacted_fails(folder: Folder) -> None:
    each = sh("cat", foreach={"task": "names", "as": "name", "max": 3}, gate={"question": "?"})
    names = sh('echo \'["ada", "bob"]\'', output={"type": "array"})
    folder.write({"names": names, "each": each}, policy=CONTINUE)
    assert folder.run(out="first").code == 5
    item = next(entry for entry in folder.entries("first", "edge.delivered") if entry["data"]["task"] == "each[1]")
    folder.forum("redact", "first", "--seq", str(item["seq"]), "--body", "value", *REASON)
    for unit in ("each[0]", "each[1]"):
        folder.forum("gate", "approve", "first", unit, "--by", "ann")

    result = folder.forum("resume", "first", "--progress", "none")

    assert result.code == 1, result
    assert folder.task_states("first") == {
        "names": "passed",
        "each[0]": "passed",
        "each[1]": "failed: expects",
        "each": "failed: error",
    }
    check_verified(folder, "first")


def test_a_run_without_its_wave_plan_cannot_be_resumed(paused: Folder) -> None:
    paused.forum("redact", "first", "--seq", "0", "--body", "wave_plan", *REASON)

    result = paused.forum("resume", "first")

    assert result.code == 2, result
    assert "the wave plan of 'first' was redacted: the run cannot be resumed" in result.err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_redacting_an_unfinished_run_warns_that_tasks_will_fail(paused: Folder, options: list[str]) -> None:
    result = redact(paused, "name", *options)

    assert "the run has not finished: tasks that need this body will fail when it resumes" in result.err
    assert "has not finished" not in result.out


def test_redacting_a_finished_run_prints_no_warning(folder: Folder) -> None:
    folder.write({"name": sh("echo a name")})
    folder.run(out="first")

    assert redact(folder, "name").err == ""


def test_a_redaction_does_not_change_the_duration_of_a_run(folder: Folder) -> None:
    folder.write({"name": sh("echo a name")})
    folder.run(out="first")
    before = [line for line in folder.forum("show", "first").out.splitlines() if line.startswith("when ")]
    redact(folder, "name")

    summary = folder.forum("show", "first").out.splitlines()

    assert [line for line in summary if line.startswith("when ")] == before
    assert "ended     passed (sealed again 1 time)" in summary
