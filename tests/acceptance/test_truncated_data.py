"""Values truncated by `max_bytes` are reported in every summary of a run, and the ledger keeps the whole value."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.workflow_folder import SHELL, Folder, check_valid, sh

ROSTER = {**SHELL, "adapters": {"shell": {**SHELL["adapters"]["shell"], "stdin": "text"}}}
FULL_TEXT = "".join(f"{number}\n" for number in range(1, 501)).rstrip("\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def write_workflow(folder: Folder, max_bytes: int) -> None:
    edge = {"task": "list", "as": "numbers", "max_bytes": max_bytes}
    tasks = {"list": sh("seq 1 500"), "reader": sh("cat", needs=[edge])}
    folder.write(tasks, roster=ROSTER, outputs={"read": "reader"})


def test_a_truncation_is_reported_by_run_and_show_and_in_the_step_summary(folder: Folder) -> None:
    write_workflow(folder, 10)

    result = folder.run(env={"GITHUB_STEP_SUMMARY": str(folder.path / "summary.md")})
    summary = folder.forum("show", "run")

    notice = f"reader: the first 10 of {len(FULL_TEXT):,} bytes of numbers"
    assert f"\ntruncated by max_bytes\n  {notice}\n\n" in result.out
    assert f"\ntruncated by max_bytes\n  {notice}\n\n" in summary.out
    assert f"- truncated by max&#95;bytes: {notice}\n" in folder.read("summary.md")
    delivered = folder.entries("run", "edge.delivered")[0]
    assert folder.body("run", delivered, "value").decode() == FULL_TEXT
    check_valid(folder.path / "run")


def test_a_single_value_is_passed_unmarked_unless_it_is_truncated(folder: Folder) -> None:
    write_workflow(folder, len(FULL_TEXT))
    complete = folder.run(out="complete")
    write_workflow(folder, len(FULL_TEXT) - 1)
    folder.run(out="cut")

    assert folder.read("complete/outputs/read.txt") == FULL_TEXT
    assert "truncated" not in complete.out
    cut = f"<data numbers from list truncated: first {len(FULL_TEXT) - 1} of {len(FULL_TEXT)} bytes "
    assert folder.read("cut/outputs/read.txt").startswith(cut)
