"""What is said of the variables that hold credentials before anything runs: their names, and never their values."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.model_workflows import KEY, model, write
from acceptance.workflow_folder import Folder, ask
from servers.formats import Format

NOBODY = "http://127.0.0.1:9/v1"
AGENTS = {"writer": {"adapter": "here"}, "critic": {"adapter": "there"}, "idle": {"adapter": "elsewhere"}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A writer whose answers a critic judges, each with a server of its own, and one that nobody asks."""
    folder = Folder(tmp_path / "work")
    adapters = {
        "here": model(Format.OPENAI, NOBODY),
        "there": model(Format.ANTHROPIC, NOBODY, proxy_env="PROXY"),
        "elsewhere": model(Format.OPENAI, NOBODY, api_key_env="UNUSED"),
    }
    policy = {"allow": {"hosts": ["127.0.0.1"], "env": ["KEY", "PROXY", "UNUSED"]}}
    tasks = {"a": ask("Write.", accept=[{"agent": "critic"}])}
    write(folder, tasks, adapters, agents=AGENTS, policy=policy)
    return folder


def test_a_dry_run_names_the_variables_that_are_not_set(folder: Folder) -> None:
    none_set = folder.forum("run", "workflow.yaml", "--dry-run")
    one_set = folder.forum("run", "workflow.yaml", "--dry-run", env={"KEY": KEY})
    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json")

    assert [result.code for result in (none_set, one_set, as_json)] == [0, 0, 0]
    assert "\nnot set   KEY, PROXY (required to start a run)\n" in none_set.out
    assert "\nnot set   PROXY (required to start a run)\n" in one_set.out
    assert as_json.document()["not_set"] == ["KEY", "PROXY"]
    assert KEY not in one_set.out + one_set.err


def test_a_dry_run_with_all_that_it_needs_names_no_variable(folder: Folder) -> None:
    given = {"KEY": KEY, "PROXY": "http://127.0.0.1:19"}

    result = folder.forum("run", "workflow.yaml", "--dry-run", env=given)
    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json", env=given)

    assert "not set" not in result.out
    assert as_json.document()["not_set"] == []


def test_a_script_needs_no_credential(folder: Folder) -> None:
    script = "apiVersion: forum/v1\nkind: Script\nmetadata: {name: s}\nanswers: [{output: x}]\n"
    (folder.path / "script.yaml").write_text(script, encoding="utf-8")

    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json", "--scripted", "script.yaml")

    assert as_json.document()["not_set"] == []


@pytest.mark.parametrize("end", ["\n", "\r\n", " ", "\u00e9"], ids=["line feed", "both", "space", "letter"])
def test_a_key_that_no_header_can_carry_is_missed_before_anything_runs(folder: Folder, end: str) -> None:
    result = folder.run(env={"KEY": KEY + end, "PROXY": "http://127.0.0.1:19"})

    assert result.code == 8, result
    assert "KEY (for here, there)" in result.err
    assert "spaces, line ends" in result.err
    assert KEY not in result.out + result.err
    assert folder.files() == {"workflow.yaml"}
