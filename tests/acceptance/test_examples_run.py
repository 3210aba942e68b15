"""Every example and the project from `forum init` run offline, reproduce the same bytes and leave valid ledgers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from acceptance.workflow_folder import Folder, bytes_in, check_valid

_EXAMPLES = Path(__file__).parents[2] / "manifests/examples"
# The exit code, and the tasks that do not pass.
EXPECTED = {
    "code-review": (6, {"publish": "refused: deadline"}),
    "data-check": (0, {}),
    "issue-triage": (0, {}),
    "release-notes": (0, {"clean-tree": "tolerated: error"}),
    "research": (0, {}),
    "translation": (0, {}),
}
INIT_PROJECT = "first-steps"


def test_every_example_has_an_expected_result() -> None:
    assert {path.parent.name for path in _EXAMPLES.glob("*/workflow.yaml")} == set(EXPECTED)


@pytest.fixture
def folder(name: str, tmp_path: Path) -> Folder:
    """A copy of an example or the project from `forum init`, so that runs do not write into the repository."""
    folder = Folder(tmp_path / name)
    if name == INIT_PROJECT:
        assert Folder(tmp_path).forum("init", name).code == 0
    else:
        shutil.copytree(_EXAMPLES / name, folder.path)
    return folder


@pytest.mark.parametrize("name", [*EXPECTED, INIT_PROJECT])
def test_two_offline_runs_of_an_example_write_the_same_bytes(folder: Folder, name: str) -> None:
    code, not_passed = EXPECTED.get(name, (0, {}))
    before = folder.files()

    results = [folder.run("--deterministic", out=out) for out in ("a", "b")]

    assert [result.code for result in results] == [code, code], results
    assert {task: state for task, state in folder.task_states("a").items() if state != "passed"} == not_passed
    assert bytes_in(folder.path / "a") == bytes_in(folder.path / "b")
    assert {path.partition("/")[0] for path in folder.files() - before} == {"a", "b"}
    assert {"ledger.jsonl", "bodies.tar", "wave-plan.json", "checkpoint"} <= set(bytes_in(folder.path / "a"))
    check_valid(folder.path / "a")


@pytest.mark.parametrize("name", ["issue-triage"])
def test_verify_and_replay_accept_the_run_of_an_example(folder: Folder) -> None:
    folder.run("--deterministic")

    assert folder.forum("verify", "run").out.startswith("valid run ")
    assert folder.forum("replay", "run").out.startswith("identical: all ")


@pytest.mark.parametrize("name", ["data-check", "issue-triage"])
def test_a_run_in_real_time_has_the_same_outputs(folder: Folder) -> None:
    virtual = folder.run("--deterministic", out="virtual")

    real = folder.run("--scripted", out="real")

    assert (virtual.code, real.code) == (0, 0), real
    assert folder.task_states("virtual") == folder.task_states("real")
    assert bytes_in(folder.path / "virtual/outputs") == bytes_in(folder.path / "real/outputs")
    check_valid(folder.path / "real")


@pytest.mark.parametrize("name", ["data-check"])
def test_the_script_gives_the_same_outputs_as_the_programs(folder: Folder) -> None:
    """This example needs no model, so its real programs can also run."""
    salt = ("--input", "salt=0123456789abcdef")
    live = folder.run(*salt, out="live")
    scripted = folder.run(*salt, "--deterministic", out="scripted")

    assert (live.code, scripted.code) == (0, 0), live
    assert bytes_in(folder.path / "live/outputs") == bytes_in(folder.path / "scripted/outputs")
    assert all(
        b"0123456789abcdef" not in data for run in ("live", "scripted") for data in bytes_in(folder.path / run).values()
    )
    check_valid(folder.path / "live")


@pytest.mark.parametrize("name", ["code-review"])
def test_the_gate_of_an_example_pauses_a_run_in_real_time(folder: Folder) -> None:
    script = yaml.safe_load((folder.path / "script.yaml").read_text(encoding="utf-8"))
    for answer in script["answers"]:
        answer.pop("latency", None)
    (folder.path / "without-latency.yaml").write_text(yaml.safe_dump(script, allow_unicode=True), encoding="utf-8")

    paused = folder.run("--scripted", "without-latency.yaml")
    approved = folder.forum("gate", "approve", "run", "publish", "--by", "ann")
    resumed = folder.forum("resume", "run")

    assert (paused.code, approved.code, resumed.code) == (5, 0, 0), (paused, approved, resumed)
    assert "forum gate approve run publish" in paused.out
    assert set(folder.task_states().values()) == {"passed"}
    check_valid(folder.path / "run")
