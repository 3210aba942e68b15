"""What `max_bytes` takes from a prompt is said wherever a run is summed up, and the record keeps all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.workflow_folder import SHELL, Folder, check_valid, sh

ROSTER = {**SHELL, "adapters": {"shell": {**SHELL["adapters"]["shell"], "stdin": "text"}}}
WHOLE = "".join(f"{number}\n" for number in range(1, 501)).rstrip("\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def read_numbers(folder: Folder, max_bytes: int) -> None:
    edge = {"task": "list", "as": "numbers", "max_bytes": max_bytes}
    tasks = {"list": sh("seq 1 500"), "reader": sh("cat", needs=[edge])}
    folder.write(tasks, roster=ROSTER, outputs={"read": "reader"})


def test_a_cut_is_told_at_the_end_of_a_run_by_show_and_in_a_steps_summary(folder: Folder) -> None:
    read_numbers(folder, 10)

    result = folder.run(env={"GITHUB_STEP_SUMMARY": str(folder.path / "summary.md")})
    shown = folder.forum("show", "run")

    told = f"reader: the first 10 of {len(WHOLE):,} bytes of numbers"
    assert f"\ntruncated by max_bytes\n  {told}\n\n" in result.out
    assert f"\ntruncated by max_bytes\n  {told}\n\n" in shown.out
    assert f"- truncated by max&#95;bytes: {told}\n" in folder.read("summary.md")
    delivered = folder.entries("run", "edge.delivered")[0]
    assert folder.body("run", delivered, "value").decode() == WHOLE
    check_valid(folder.path / "run")


def test_one_value_comes_as_it_is_unless_it_is_cut(folder: Folder) -> None:
    read_numbers(folder, len(WHOLE))
    whole = folder.run(out="whole")
    read_numbers(folder, len(WHOLE) - 1)
    folder.run(out="cut")

    assert folder.read("whole/outputs/read.txt") == WHOLE
    assert "cut" not in whole.out
    cut = f"<data numbers from list truncated: first {len(WHOLE) - 1} of {len(WHOLE)} bytes "
    assert folder.read("cut/outputs/read.txt").startswith(cut)
