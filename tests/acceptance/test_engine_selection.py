"""The engine of a run is selected by the policy or `--engine`, or by the original invocation if the run is resumed."""

import asyncio
import json
from pathlib import Path

import pytest

from acceptance.test_adapter_guide import forum, install_guide
from acceptance.test_documents import ROOT
from acceptance.workflow_folder import Folder, check_valid, sh
from forum_runner import api
from forum_runner.api import ResumeRequest, RunRequest, UsageError, Workspace

GUIDE = ROOT / "docs" / "guide" / "engines.md"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def engine_of(folder: Folder, run: str) -> object:
    return json.loads(folder.read(f"{run}/invocation.json"))["engine"]


@pytest.mark.requirement("RUN-ENGINE-001")
def test_the_engine_does_not_affect_the_entries_of_a_run(folder: Folder) -> None:
    tasks = {"a": sh("echo one", accept=[{"command": ["sh", "-c", "true"]}]), "b": sh("exit 3", needs=["a"])}
    folder.write(tasks, policy={"engine": "process"})

    codes = [folder.run(out="policy").code, folder.run("--engine", "local", out="option").code]

    assert codes == [1, 1]
    kinds = [[entry["kind"] for entry in folder.entries(run)] for run in ("policy", "option")]
    assert kinds[0] == kinds[1]
    for run in ("policy", "option"):
        check_valid(folder.path / run)


def test_a_resumed_run_keeps_the_engine_unless_a_different_one_is_given(folder: Folder) -> None:
    folder.write({"a": sh("echo one", gate={"question": "Go?"})})
    paused = folder.run("--engine", "process")
    approved = folder.forum("gate", "approve", "run", "a", "--by", "me")

    resumed = folder.forum("resume", "run", "--engine", "local", "--progress", "none")

    assert (paused.code, approved.code, resumed.code) == (5, 0, 0), (approved, resumed)
    assert engine_of(folder, "run") == "process"
    check_valid(folder.path / "run")


@pytest.mark.requirement("RUN-ENGINE-001")
def test_an_engine_that_is_not_installed_is_an_error_before_anything_runs(folder: Folder) -> None:
    folder.write({"a": sh("touch effects")}, policy={"engine": "x-absent"})

    result = folder.run()
    misspelled = folder.run("--engine", "proces")

    assert (result.code, misspelled.code) == (2, 2)
    assert "no engine 'x-absent' is installed" in result.err
    assert "did you mean 'process'?" in misspelled.err
    assert folder.files() == {"workflow.yaml"}


def test_a_misspelled_engine_in_a_policy_is_a_finding(folder: Folder) -> None:
    folder.write({"a": sh("true")}, policy={"engine": "proces"})

    assert folder.forum("check", "workflow.yaml").code == 2


def test_the_engine_from_the_guide_answers(tmp_path: Path) -> None:
    package = install_guide(GUIDE, "forum_threads.py", tmp_path)
    (package / "work/workflow.yaml").write_text(
        "apiVersion: forum/v1\nkind: Workflow\nmetadata: {name: echo}\npolicy: {engine: x-threads}\n"
        "roster: {adapters: {a: {type: x-any}}, agents: {writer: {adapter: a}}}\n"
        "plan: {tasks: {t: {agent: writer, instruction: Hear ye}}, outputs: {t: t}}\n"
    )
    (package / "work/script.yaml").write_text("apiVersion: forum/v1\nkind: Script\nmetadata: {name: s}\nanswers: []\n")

    result = forum(package, "run", "workflow.yaml", "--scripted", "script.yaml", "--out", "run")

    assert result.returncode == 0, result.stderr
    assert (package / "work/run/outputs/t.txt").read_text() == "Hear ye"


@pytest.fixture
def broken_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Installs an engine that cannot be created, and returns its name."""
    site = tmp_path / "site"
    info = site / "forum_broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: forum-broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[forum.engines]\nx-broken = forum_broken:BrokenEngine\n")
    (site / "forum_broken.py").write_text(
        "class BrokenEngine:\n    attach = begin = cancel = reports = close = print\n"
        "    def __init__(self): raise OSError('no route to the cluster')\n"
    )
    monkeypatch.syspath_prepend(site)
    return "x-broken"


@pytest.mark.requirement("RUN-ENGINE-001")
def test_an_engine_that_cannot_be_created_is_an_error_before_anything_runs(folder: Folder, broken_engine: str) -> None:
    folder.write({"a": sh("touch effects")})
    request = RunRequest("workflow.yaml", out=Path("run"), engine=broken_engine)

    with pytest.raises(UsageError, match=r"engine 'x-broken' is broken: .*no route to the cluster"):
        asyncio.run(api.run(Workspace.at(folder.path), request))

    assert folder.files() == {"workflow.yaml"}


def test_a_run_whose_engine_could_not_be_created_is_not_locked(folder: Folder, broken_engine: str) -> None:
    folder.write({"a": sh("echo one", gate={"question": "Go?"})})
    folder.run()
    folder.forum("gate", "approve", "run", "a", "--by", "me")
    workspace = Workspace.at(folder.path)

    with pytest.raises(UsageError, match="no route to the cluster"):
        asyncio.run(api.resume(workspace, ResumeRequest("run", engine=broken_engine)))

    assert asyncio.run(api.resume(workspace, ResumeRequest("run"))).status == "passed"
    check_valid(folder.path / "run")
